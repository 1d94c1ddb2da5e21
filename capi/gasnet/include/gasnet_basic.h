/* Compiler annotations and small syntax helpers shared by gasnet.h and gasnet_tools.h. */
#ifndef _GASNET_BASIC_H
#define _GASNET_BASIC_H

#include "gasnet_config.h"

#ifndef __STDC_FORMAT_MACROS
  #define __STDC_FORMAT_MACROS 1
#endif
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
/* Clients use these without including them: GASNet's own headers bring them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* what GASNet's clients use without defining it */
#ifndef PRIuSZ
  #define PRIuSZ "zu"
  #define PRIdSZ "zd"
  #define PRIxSZ "zx"
#endif
#ifndef MIN
  #define MIN(x, y) ((x) < (y) ? (x) : (y))
#endif
#ifndef MAX
  #define MAX(x, y) ((x) > (y) ? (x) : (y))
#endif

#ifndef _STRINGIFY
  #define _STRINGIFY_HELPER(x) #x
  #define _STRINGIFY(x) _STRINGIFY_HELPER(x)
#endif
#ifndef _CONCAT
  #define _CONCAT_HELPER(a, b) a##b
  #define _CONCAT(a, b) _CONCAT_HELPER(a, b)
#endif

#ifdef __cplusplus
  #define GASNETT_EXTERNC extern "C"
  #define GASNETT_BEGIN_EXTERNC extern "C" {
  #define GASNETT_END_EXTERNC }
#else
  #define GASNETT_EXTERNC extern
  #define GASNETT_BEGIN_EXTERNC
  #define GASNETT_END_EXTERNC
#endif
#define GASNETI_EXTERNC GASNETT_EXTERNC
#define GASNETI_BEGIN_EXTERNC GASNETT_BEGIN_EXTERNC
#define GASNETI_END_EXTERNC GASNETT_END_EXTERNC
#define GASNETT_TENTATIVE_EXTERN GASNETT_EXTERNC

#if defined(__cplusplus) || defined(__GNUC_STDC_INLINE__) || defined(__GNUC_GNU_INLINE__)
  #define GASNETI_INLINE_KW __inline__
#else
  #define GASNETI_INLINE_KW __inline
#endif
#define GASNETT_INLINE(fn) static GASNETI_INLINE_KW __attribute__((__always_inline__))
#define GASNETT_ALWAYS_INLINE(fn) GASNETT_INLINE(fn)
#define GASNETT_PLEASE_INLINE(fn) static GASNETI_INLINE_KW
#define GASNETT_NEVER_INLINE(fn, decl) __attribute__((__noinline__)) decl
#define GASNETI_INLINE(fn) GASNETT_INLINE(fn)

#if defined(__cplusplus)
  #define GASNETT_RESTRICT __restrict__
#else
  #define GASNETT_RESTRICT __restrict
#endif
#define GASNETT_USED __attribute__((__used__))
#define GASNETT_UNUSED __attribute__((__unused__))
#define GASNETT_NORETURN __attribute__((__noreturn__))
#define GASNETT_NORETURNP(fn)
#define GASNETT_MALLOC __attribute__((__malloc__))
#define GASNETT_MALLOCP(fn)
#define GASNETT_PURE __attribute__((__pure__))
#define GASNETT_PUREP(fn)
#define GASNETT_CONST __attribute__((__const__))
#define GASNETT_CONSTP(fn)
#define GASNETT_HOT __attribute__((__hot__))
#define GASNETT_COLD __attribute__((__cold__))
#define GASNETT_DEPRECATED __attribute__((__deprecated__))
#define GASNETT_WARN_UNUSED_RESULT __attribute__((__warn_unused_result__))
#define GASNETT_FORMAT_PRINTF(fn, fmtarg, firstvararg, decl) \
  __attribute__((__format__(__printf__, fmtarg, firstvararg))) decl
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvararg, decl) \
  __attribute__((__format__(__printf__, fmtarg, firstvararg))) decl
#define GASNETT_CURRENT_FUNCTION __func__

#define GASNETT_PREDICT_TRUE(expr) (__builtin_expect(!!(expr), 1))
#define GASNETT_PREDICT_FALSE(expr) (__builtin_expect(!!(expr), 0))
#ifndef if_pf
  #define if_pf(cond) if (GASNETT_PREDICT_FALSE(cond))
  #define if_pt(cond) if (GASNETT_PREDICT_TRUE(cond))
#endif
#define gasnett_unreachable() __builtin_unreachable()
#define gasnett_constant_p(expr) (__builtin_constant_p(expr))

/* Up to eight parameters of a function marked as deliberately unused. */
#define GASNETT_UNUSED_ARGS1(a) ((void)(a))
#define GASNETT_UNUSED_ARGS2(a, b) ((void)(a), (void)(b))
#define GASNETT_UNUSED_ARGS3(a, b, c) ((void)(a), GASNETT_UNUSED_ARGS2(b, c))
#define GASNETT_UNUSED_ARGS4(a, b, c, d) ((void)(a), GASNETT_UNUSED_ARGS3(b, c, d))
#define GASNETT_UNUSED_ARGS5(a, b, c, d, e) ((void)(a), GASNETT_UNUSED_ARGS4(b, c, d, e))
#define GASNETT_UNUSED_ARGS6(a, b, c, d, e, f) ((void)(a), GASNETT_UNUSED_ARGS5(b, c, d, e, f))
#define GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g) \
  ((void)(a), GASNETT_UNUSED_ARGS6(b, c, d, e, f, g))
#define GASNETT_UNUSED_ARGS8(a, b, c, d, e, f, g, h) \
  ((void)(a), GASNETT_UNUSED_ARGS7(b, c, d, e, f, g, h))

/* A text kept in the object file for tools that scan executables for "$Name: value $". */
#define GASNETT_IDENT(name, text) static const char name[] GASNETT_USED GASNETT_UNUSED = text
#define GASNETI_IDENT(name, text) GASNETT_IDENT(name, text)

#define GASNETT_PAGESIZE GASNETI_PAGESIZE
#define GASNETT_PAGESHIFT GASNETI_PAGESHIFT
#define GASNETT_CACHE_LINE_BYTES GASNETI_CACHE_LINE_BYTES
#define GASNETT_SYSTEM_TUPLE GASNETI_SYSTEM_TUPLE
#define GASNETT_CONFIGURE_ARGS GASNETI_CONFIGURE_ARGS
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS
#define GASNETT_PLATFORM_COMPILER_IDSTR PLATFORM_COMPILER_IDSTR
#define GASNETT_PLATFORM_COMPILER_FAMILYID PLATFORM_COMPILER_FAMILYID
#define GASNETT_PLATFORM_COMPILER_ID PLATFORM_COMPILER_ID
#define GASNETT_PLATFORM_COMPILER_VERSION PLATFORM_COMPILER_VERSION

#endif
