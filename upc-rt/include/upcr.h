/* upcr.h: the Berkeley UPC runtime interface, version 3.14, for C that other UPC translators emit and for C written by hand.
 *
 * One process per UPC thread. A pointer-to-shared, with phase or without, is a 64-bit word: phase 20 bits, thread 10, offset
 * in the thread's segment 34; or, where __UPC_PTS_STRUCT is defined (upcc -fupc-pts=struct), a structure of 16 bytes. Everything that UPC's libraries offer has its name
 * here too, see upcr_lib.h.
 */
#ifndef UPCR_H
#define UPCR_H 1

#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "upcc_abi.h"
#include "upcc_nb.h"
#include "upc_types.h"
#include "upc_castable_info.h"
#include "gasnet_tools.h"
#define __UPC_ALL_TOOLS 1
#include "upcc_tools.h"
#undef __UPC_ALL_TOOLS
#undef __UPC_WEAK

/* ---- versions and parameters ---- */
#define UPCR_RUNTIME_SPEC_MAJOR 3
#define UPCR_RUNTIME_SPEC_MINOR 14
#if defined UPCR_WANT_MAJOR && (UPCR_WANT_MAJOR != UPCR_RUNTIME_SPEC_MAJOR || UPCR_WANT_MINOR > UPCR_RUNTIME_SPEC_MINOR)
#error this runtime has version 3.14 of the UPCR interface, the translated code wants another one
#endif
#define UPCR_PURE_SHARED 1
#define UPCR_SHARED_DISTRIBUTED 2
#define UPCR_PURE_DISTRIBUTED 3
#define UPCR_OTHER 4
#define UPCR_PLATFORM_ENVIRONMENT UPCR_SHARED_DISTRIBUTED
#ifdef __UPC_PTS_STRUCT
#define __UPCR_REP "struct/p32:t32:a64"
#define UPCR_MAX_BLOCKSIZE 0x7fffffff
#define UPCR_MAX_THREADS 0x7fffffff
#else
#define __UPCR_REP "packed/p20:t10:a34"
#define UPCR_MAX_BLOCKSIZE (1 << 20)
#define UPCR_MAX_THREADS (1 << __UPC_TB)
#endif
#define UPCR_CONFIG_STRING "VERSION=3.14,PLATFORMENV=shared-distributed,SHMEM=pshm,SHAREDPTRREP=" __UPCR_REP ",TRANS=any,nodebug,nogasp"
#ifdef __UPC_STATIC_THREADS
#define __UPCR_TEXT2(x) #x
#define __UPCR_TEXT(x) __UPCR_TEXT2(x)
#define UPCRI_THREADCONFIG_STR ",staticthreads=" __UPCR_TEXT(__UPC_STATIC_THREADS)
#else
#define UPCRI_THREADCONFIG_STR ",dynamicthreads"
#endif
#ifndef GASNET_CONFIG_STRING
#define GASNET_CONFIG_STRING "RELEASE=1.0.0,SPEC=1.8,CONDUIT=ANY(ANY-1.0/ANY-1.0),THREADMODEL=SEQ,SEGMENT=FAST,PTR=64bit,noalign,pshm,nodebug,notrace,nostats"
#endif
#define UPCR_PAGESIZE 4096
#define SIZEOF_UPCR_REGISTER_VALUE_T 8
#define UPCR_BARRIERFLAG_ANONYMOUS 1
#define UPCR_ATTACH_ENV_OVERRIDE 1
#define UPCR_ATTACH_REQUIRE_SIZE 2
#define UPCR_ATTACH_SIZE_WARN 4
#define UPCR_ATOMIC_MEMSIZE(sz) ((sz) == 0 ? 8 : (sz) == 1 || (sz) == 2 || (sz) == 4 || (sz) == 8)
#ifndef GASNETT_IDENT
#define GASNETT_IDENT(tag, text) \
  static char volatile tag[] __attribute__((__unused__, __used__)) = text
#endif

#ifndef GASNETT_FORMAT_PRINTF
#define GASNETT_FORMAT_PRINTF(name, format, first, declarator) \
  __attribute__((__format__(__printf__, format, first))) declarator
#endif

/* ---- types ---- */
typedef uint32_t upcr_thread_t;
typedef unsigned int upcr_phase_t;
typedef __upc_pts upcr_shared_ptr_t;
typedef __upc_pts upcr_pshared_ptr_t;
typedef uint64_t upcr_register_value_t;
typedef struct __upc_transfer *upcr_handle_t;
typedef struct { upcr_register_value_t __v; } upcr_valget_handle_t;
typedef upcr_handle_t bupc_handle_t;
#define UPCR_INVALID_HANDLE ((upcr_handle_t)0)
#define BUPC_COMPLETE_HANDLE ((bupc_handle_t)0)
#ifdef __UPC_PTS_STRUCT
#define UPCR_NULL_SHARED { 0, 0, 0 }
#define UPCR_INITIALIZED_SHARED { 1, 0, 0 }
#else
#define UPCR_NULL_SHARED 0
#define UPCR_INITIALIZED_SHARED 1
#endif
#define UPCR_NULL_PSHARED UPCR_NULL_SHARED
#define UPCR_INITIALIZED_PSHARED UPCR_INITIALIZED_SHARED
static const upcr_shared_ptr_t upcr_null_shared __attribute__((__unused__)) = UPCR_NULL_SHARED;
static const upcr_pshared_ptr_t upcr_null_pshared __attribute__((__unused__)) = UPCR_NULL_PSHARED;
typedef void upcri_pthreadinfo_t;
typedef struct { char __unused; } upcri_tld_t;
#define UPCRI_PT_ARG
#define UPCRI_PT_ARG_ALONE void
#define UPCRI_PT_PASS
#define UPCRI_PT_PASS_ALONE
#define upcri_srcpos() ((void)0)

#define __UPCR_IN static inline __attribute__((__unused__))
__UPCR_IN struct __upc_w __upcr_u(__upc_pts p) { return __upc_u(p); }
__UPCR_IN __upc_pts __upcr_p(unsigned long o, unsigned long t, unsigned long ph)
{
  struct __upc_w w = { o, t, ph };
  return __upc_p(w);
}

/* ---- start and end ---- */
struct upcr_startup_spawnfuncs {
  void (*pre_spawn_init)(void);
  void (*per_pthread_init)(void);
  void (*cache_init)(void *start, uintptr_t len);
  void (*heap_init)(void *start, uintptr_t len);
  void (*static_init)(void *start, uintptr_t len);
  int (*main_function)(int, char **);
};
typedef struct upcr_startup_spawnfuncs upcr_startup_spawnfuncs_t;
void upcr_startup_init(int *argc, char ***argv, upcr_thread_t static_threadcnt, upcr_thread_t default_pthreads_per_proc,
                       const char *main_name);
#ifdef __UPC_PTS_STRUCT
/* what an executable's own start finds out by */
const int __upcr_wide __attribute__((__weak__)) = 1;
void __upcr_startup_init_wide(int *argc, char ***argv, upcr_thread_t static_threadcnt, upcr_thread_t default_pthreads_per_proc,
                              const char *main_name);
#define upcr_startup_init(argc, argv, threads, pthreads, name) __upcr_startup_init_wide(argc, argv, threads, pthreads, name)
#endif
void upcr_startup_attach(uintptr_t size, uintptr_t offset, int flags);
void upcr_startup_spawn(int *argc, char ***argv, uintptr_t static_data_size, uintptr_t cache_size,
                        struct upcr_startup_spawnfuncs *funcs);
void upcr_exit(int status) __attribute__((__noreturn__));
unsigned __upcr_mynode(void);
unsigned __upcr_nodes(void);
void __upc_error(const char *text) __attribute__((__noreturn__));
#define upcr_mynode() ((upcr_thread_t)__upcr_mynode())
#define upcr_nodes() ((upcr_thread_t)__upcr_nodes())
#define upcr_mythread() ((upcr_thread_t)__upc_rt.mythread)
#define upcr_threads() ((upcr_thread_t)__upc_rt.threads)
#define upcr_global_exit(status) __upc_global_exit(status)
#define upcr_getenv(name) getenv(name)
#define UPCR_BEGIN_FUNCTION() extern void __upcr_begin_function(void)
#define UPCR_EXIT_FUNCTION() ((void)0)
#define UPCR_SET_SRCPOS(file, line) ((void)0)
extern int32_t upcr_forall_control;   /* the nesting of upc_forall loops; translated files define it themselves */
int upcrt_gcd(int a, int b);
int _upcrt_forall_start(int start_thread, int step, int lo, int scale);
#define upcrt_forall_start(start, step, lo, scale) \
       _upcrt_forall_start(start, step, lo, scale)
#ifdef __UPC_PTS_STRUCT
#define _upcrt_memput_nb _upcrt_memput_nb_wide
#endif
void _upcrt_memput_nb(upcr_shared_ptr_t dst, const void *src, size_t n);
/* start by the variables that a link step may define (UPCRL_..., see upcr_init.c) */
void bupc_init(int *argc, char ***argv);
void bupc_init_reentrant(int *argc, char ***argv, int (*pmain)(int, char **));
void bupc_exit(int status) __attribute__((__noreturn__));

/* ends the job with a message */
__UPCR_IN void upcri_err(const char *fmt, ...) __attribute__((__format__(__printf__, 1, 2), __noreturn__));
__UPCR_IN void upcri_err(const char *fmt, ...)
{
  char text[2000];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  __upc_error(text);
}
__UPCR_IN void *upcri_malloc(size_t n)
{
  void *p = malloc(n ? n : 1);
  if (!p)
    upcri_err("out of memory: malloc(%lu)", (unsigned long)n);
  return p;
}
#define UPCRI_XMALLOC(type, count) ((type *)upcri_malloc(sizeof(type) * (count)))
#define UPCRI_ALIGNUP(n, to) (((uintptr_t)(n) + (to) - 1) / (to) * (to))
/* the runtime sets up its heaps itself; these are hooks to hand to upcr_startup_spawn */
__UPCR_IN void upcri_init_heaps(void *start, uintptr_t len) { (void)start; (void)len; }
__UPCR_IN void upcri_init_cache(void *start, uintptr_t len) { (void)start; (void)len; }

/* ---- parts of pointers; both kinds are the same word, one without phase has phase 0 ---- */
#define __UPCR_PARTS(K, T) \
__UPCR_IN upcr_thread_t upcr_threadof_##K(T p) { return (upcr_thread_t)__upcr_u(p).t; } \
__UPCR_IN uintptr_t upcr_addrfield_##K(T p) { return __upcr_u(p).o; } \
__UPCR_IN upcr_phase_t upcr_phaseof_##K(T p) { return (upcr_phase_t)__upcr_u(p).ph; } \
__UPCR_IN int upcr_isnull_##K(T p) { return !__upc_nonnull(__upcr_u(p)); } \
__UPCR_IN int upcr_isvalid_##K(T p) { return __upcr_u(p).t < __upc_rt.threads; } \
__UPCR_IN int upcr_setnull_##K(T *p) { *p = __UPC_NULL; return 1; } \
__UPCR_IN int upcr_is_init_##K(T p) { struct __upc_w w = __upcr_u(p); return w.o == 1 && w.t == 0 && w.ph == 0; } \
__UPCR_IN int upcr_hasMyAffinity_##K(T p) { return __upc_ismine(__upcr_u(p)); } \
__UPCR_IN int upcr_hasAffinity_##K(T p, upcr_thread_t t) { return __upcr_u(p).t == t; } \
__UPCR_IN void *upcr_##K##_to_local(T p) { return __upc_priv(__upcr_u(p)); } \
__UPCR_IN void *upcr_##K##_to_processlocal(T p) { return __upc_priv(__upcr_u(p)); } \
__UPCR_IN void *upcri_##K##_to_remote(T p) { return __upc_priv(__upcr_u(p)); } \
__UPCR_IN void *upcri_##K##_to_remote_withthread(T p, upcr_thread_t t) { (void)t; return __upc_priv(__upcr_u(p)); }
__UPCR_PARTS(shared, upcr_shared_ptr_t)
__UPCR_PARTS(pshared, upcr_pshared_ptr_t)
#define upcr_shared_to_local(p) (upcr_shared_to_local)(p)
#define upcr_pshared_to_local(p) (upcr_pshared_to_local)(p)

__UPCR_IN upcr_shared_ptr_t upcr_local_to_shared_withphase(void *p, upcr_phase_t phase, upcr_thread_t t)
{
  if (!p)
    return __UPC_NULL;
  return __upcr_p((unsigned long)((char *)p - __upc_rt.base) - t * __upc_rt.stride, t, phase);
}
__UPCR_IN upcr_shared_ptr_t upcr_local_to_shared(void *p)
{
  return upcr_local_to_shared_withphase(p, 0, p ? (upcr_thread_t)((unsigned long)((char *)p - __upc_rt.base) / __upc_rt.stride) : 0);
}
__UPCR_IN upcr_pshared_ptr_t upcr_local_to_pshared(void *p) { return upcr_local_to_shared(p); }
__UPCR_IN void upcr_local_to_shared_ref(void *p, upcr_shared_ptr_t *r) { *r = upcr_local_to_shared(p); }
__UPCR_IN void upcr_local_to_pshared_ref(void *p, upcr_pshared_ptr_t *r) { *r = upcr_local_to_pshared(p); }
__UPCR_IN void upcr_local_to_shared_ref_withphase(void *p, upcr_phase_t phase, upcr_thread_t t, upcr_shared_ptr_t *r)
{
  *r = upcr_local_to_shared_withphase(p, phase, t);
}
__UPCR_IN upcr_shared_ptr_t upcr_shared_resetphase(upcr_shared_ptr_t p) { return __upc_p(__upc_ph0(__upcr_u(p))); }
__UPCR_IN void upcr_shared_resetphase_ref(upcr_shared_ptr_t *p) { *p = upcr_shared_resetphase(*p); }
__UPCR_IN upcr_pshared_ptr_t upcr_shared_to_pshared(upcr_shared_ptr_t p) { return upcr_shared_resetphase(p); }
__UPCR_IN void upcr_shared_to_pshared_ref(upcr_shared_ptr_t p, upcr_pshared_ptr_t *r) { *r = upcr_shared_resetphase(p); }
__UPCR_IN upcr_shared_ptr_t upcr_pshared_to_shared(upcr_pshared_ptr_t p) { return p; }
__UPCR_IN void upcr_pshared_to_shared_ref(upcr_pshared_ptr_t p, upcr_shared_ptr_t *r) { *r = p; }
__UPCR_IN upcr_shared_ptr_t upcr_pshared_to_shared_withphase(upcr_pshared_ptr_t p, upcr_phase_t phase)
{
  struct __upc_w w = __upcr_u(p);
  return __upcr_p(w.o, w.t, phase);
}
__UPCR_IN void upcr_pshared_to_shared_ref_withphase(upcr_pshared_ptr_t p, upcr_phase_t phase, upcr_shared_ptr_t *r)
{
  *r = upcr_pshared_to_shared_withphase(p, phase);
}
__UPCR_IN size_t upcr_affinitysize(size_t total, size_t nbytes, upcr_thread_t t) { return __upc_affinitysize(total, nbytes, t); }

/* ---- arithmetic ---- */
__UPCR_IN upcr_shared_ptr_t upcr_add_shared(upcr_shared_ptr_t p, size_t elemsz, ptrdiff_t inc, size_t blockelems)
{
  return __upc_p(__upc_add(__upcr_u(p), inc, blockelems, elemsz));
}
__UPCR_IN upcr_pshared_ptr_t upcr_add_psharedI(upcr_pshared_ptr_t p, size_t elemsz, ptrdiff_t inc)
{
  return __upc_p(__upc_add(__upcr_u(p), inc, 0, elemsz));
}
__UPCR_IN upcr_pshared_ptr_t upcr_add_pshared1(upcr_pshared_ptr_t p, size_t elemsz, ptrdiff_t inc)
{
  return __upc_p(__upc_add(__upcr_u(p), inc, 1, elemsz));
}
__UPCR_IN void upcr_inc_shared(upcr_shared_ptr_t *p, size_t elemsz, ptrdiff_t inc, size_t blockelems)
{
  *p = upcr_add_shared(*p, elemsz, inc, blockelems);
}
__UPCR_IN void upcr_inc_psharedI(upcr_pshared_ptr_t *p, size_t elemsz, ptrdiff_t inc) { *p = upcr_add_psharedI(*p, elemsz, inc); }
__UPCR_IN void upcr_inc_pshared1(upcr_pshared_ptr_t *p, size_t elemsz, ptrdiff_t inc) { *p = upcr_add_pshared1(*p, elemsz, inc); }
__UPCR_IN ptrdiff_t upcr_sub_shared(upcr_shared_ptr_t a, upcr_shared_ptr_t b, size_t elemsz, size_t blockelems)
{
  ptrdiff_t d = __upc_sub(__upcr_u(a), __upcr_u(b), blockelems, elemsz);
  if (!__upc_eq(__upcr_u(upcr_add_shared(b, elemsz, d, blockelems)), __upcr_u(a)))
    upcri_err("upcr_sub_shared: no number of elements leads from one pointer to the other");
  return d;
}
__UPCR_IN ptrdiff_t upcr_sub_psharedI(upcr_pshared_ptr_t a, upcr_pshared_ptr_t b, size_t elemsz)
{
  ptrdiff_t d = __upc_sub(__upcr_u(a), __upcr_u(b), 0, elemsz);
  if (!__upc_eq(__upcr_u(upcr_add_psharedI(b, elemsz, d)), __upcr_u(a)))
    upcri_err("upcr_sub_psharedI: no number of elements leads from one pointer to the other");
  return d;
}
__UPCR_IN ptrdiff_t upcr_sub_pshared1(upcr_pshared_ptr_t a, upcr_pshared_ptr_t b, size_t elemsz)
{
  ptrdiff_t d = __upc_sub(__upcr_u(a), __upcr_u(b), 1, elemsz);
  if (!__upc_eq(__upcr_u(upcr_add_pshared1(b, elemsz, d)), __upcr_u(a)))
    upcri_err("upcr_sub_pshared1: no number of elements leads from one pointer to the other");
  return d;
}
__UPCR_IN int upcr_isequal_shared_shared(upcr_shared_ptr_t a, upcr_shared_ptr_t b)
{
  return __upc_eq(__upcr_u(a), __upcr_u(b));
}
#define upcr_isequal_shared_pshared(a, b) upcr_isequal_shared_shared(a, b)
#define upcr_isequal_pshared_shared(a, b) upcr_isequal_shared_shared(a, b)
#define upcr_isequal_pshared_pshared(a, b) upcr_isequal_shared_shared(a, b)
__UPCR_IN int upcr_isequal_shared_local(upcr_shared_ptr_t a, void *b) { return __upc_priv(__upcr_u(a)) == b; }
#define upcr_isequal_pshared_local(a, b) upcr_isequal_shared_local(a, b)
#define upcr_isequal_local_shared(a, b) upcr_isequal_shared_local(b, a)
#define upcr_isequal_local_pshared(a, b) upcr_isequal_shared_local(b, a)

/* ---- castability ---- */
__UPCR_IN void *upcr_cast(upcr_shared_ptr_t p)
{
  struct __upc_w w = __upcr_u(p);
  return __upc_near(w) ? __upc_priv(w) : (void *)0;
}
__UPCR_IN upc_thread_info_t upcr_thread_info(size_t t)
{
  upc_thread_info_t info;
  struct __upc_w w = { 0, t, 0 };
  info.guaranteedCastable = info.probablyCastable = t < __upc_rt.threads && __upc_near(w) ? UPC_CASTABLE_ALL : 0;
  return info;
}

/* ---- scalar access: offsets are bytes ---- */
__UPCR_IN void __upcr_get(void *dst, __upc_pts src, ptrdiff_t off, size_t n)
{
  struct __upc_w w = __upcr_u(src);
  w.o += (unsigned long)off;
  if (__upc_near(w))
    memcpy(dst, __upc_at(w), n);
  else
    __upc_get(dst, (unsigned)w.t, w.o, n);
}
__UPCR_IN void __upcr_put(__upc_pts dst, ptrdiff_t off, const void *src, size_t n)
{
  struct __upc_w w = __upcr_u(dst);
  w.o += (unsigned long)off;
  if (__upc_near(w))
    memcpy(__upc_at(w), src, n);
  else
    __upc_put((unsigned)w.t, w.o, src, n);
}
/* the low-order bytes of a register */
__UPCR_IN void __upcr_put_val(__upc_pts dst, ptrdiff_t off, upcr_register_value_t v, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v <<= 8 * (8 - n);
#endif
  switch (n) {   /* constant lengths become single stores */
  case 1: __upcr_put(dst, off, &v, 1); break;
  case 2: __upcr_put(dst, off, &v, 2); break;
  case 4: __upcr_put(dst, off, &v, 4); break;
  case 8: __upcr_put(dst, off, &v, 8); break;
  default: __upcr_put(dst, off, &v, n);
  }
}
__UPCR_IN upcr_register_value_t __upcr_get_val(__upc_pts src, ptrdiff_t off, size_t n)
{
  upcr_register_value_t v = 0;
  switch (n) {
  case 1: __upcr_get(&v, src, off, 1); break;
  case 2: __upcr_get(&v, src, off, 2); break;
  case 4: __upcr_get(&v, src, off, 4); break;
  case 8: __upcr_get(&v, src, off, 8); break;
  default: __upcr_get(&v, src, off, n);
  }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v >>= 8 * (8 - n);
#endif
  return v;
}
/* S: empty or _strict; BEFORE and AFTER: the fences of writes; LOOK and LOOKED: those of reads, which programs wait with in loops */
#define __UPCR_ACCESS(K, T, S, BEFORE, AFTER, LOOK, LOOKED) \
__UPCR_IN void upcr_put_##K##S(T d, ptrdiff_t off, const void *s, size_t n) { BEFORE(1); __upcr_put(d, off, s, n); AFTER(1); } \
__UPCR_IN void upcr_get_##K##S(void *d, T s, ptrdiff_t off, size_t n) { LOOK(); __upcr_get(d, s, off, n); LOOKED(s, off, d, n); } \
__UPCR_IN void upcr_put_##K##_val##S(T d, ptrdiff_t off, upcr_register_value_t v, size_t n) { BEFORE(1); __upcr_put_val(d, off, v, n); AFTER(1); } \
__UPCR_IN upcr_register_value_t upcr_get_##K##_val##S(T s, ptrdiff_t off, size_t n) \
{ upcr_register_value_t v; LOOK(); v = __upcr_get_val(s, off, n); LOOKED(s, off, &v, sizeof v); return v; } \
__UPCR_IN upcr_valget_handle_t upcr_get_nb_##K##_val##S(T s, ptrdiff_t off, size_t n) { upcr_valget_handle_t h = { upcr_get_##K##_val##S(s, off, n) }; return h; } \
__UPCR_IN void upcr_put_##K##_floatval##S(T d, ptrdiff_t off, float v) { upcr_put_##K##S(d, off, &v, sizeof v); } \
__UPCR_IN void upcr_put_##K##_doubleval##S(T d, ptrdiff_t off, double v) { upcr_put_##K##S(d, off, &v, sizeof v); } \
__UPCR_IN float upcr_get_##K##_floatval##S(T s, ptrdiff_t off) { float v; upcr_get_##K##S(&v, s, off, sizeof v); return v; } \
__UPCR_IN double upcr_get_##K##_doubleval##S(T s, ptrdiff_t off) { double v; upcr_get_##K##S(&v, s, off, sizeof v); return v; }
#define __UPCR_NOFENCE(store) ((void)0)
#define __UPCR_NOLOOK() ((void)0)
#define __UPCR_NOTLOOKED(s, off, v, n) ((void)0)
__UPCR_IN void __upcr_looked(__upc_pts s, ptrdiff_t off, const void *v, size_t n)
{
  struct __upc_w w = __upc_u(s);
  if (__upc_telling()) __upc_look((unsigned)w.t, w.o + (unsigned long)off, v, n);
  else __atomic_thread_fence(4);
}
__UPCR_ACCESS(shared, upcr_shared_ptr_t, , __UPCR_NOFENCE, __UPCR_NOFENCE, __UPCR_NOLOOK, __UPCR_NOTLOOKED)
__UPCR_ACCESS(pshared, upcr_pshared_ptr_t, , __UPCR_NOFENCE, __UPCR_NOFENCE, __UPCR_NOLOOK, __UPCR_NOTLOOKED)
__UPCR_ACCESS(shared, upcr_shared_ptr_t, _strict, __upc_sbefore, __upc_safter, __upc_lbefore, __upcr_looked)
__UPCR_ACCESS(pshared, upcr_pshared_ptr_t, _strict, __upc_sbefore, __upc_safter, __upc_lbefore, __upcr_looked)
/* started, to be completed by a handle or, with how 1, together; strict ones are complete on return */
__UPCR_IN upcr_handle_t __upcr_start_get(void *dst, __upc_pts src, ptrdiff_t off, size_t n, int how)
{
  struct __upc_w w = __upcr_u(src);
  return __upc_start_get(dst, (unsigned)w.t, w.o + (unsigned long)off, n, how);
}
__UPCR_IN upcr_handle_t __upcr_start_put(__upc_pts dst, ptrdiff_t off, const void *src, size_t n, int how)
{
  struct __upc_w w = __upcr_u(dst);
  return __upc_start_put((unsigned)w.t, w.o + (unsigned long)off, src, n, how | 2);
}
__UPCR_IN upcr_handle_t __upcr_start_put_val(__upc_pts dst, ptrdiff_t off, upcr_register_value_t v, size_t n, int how)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v <<= 8 * (8 - n);
#endif
  return __upcr_start_put(dst, off, &v, n, how);
}
#define __UPCR_STARTED(K, T) \
__UPCR_IN upcr_handle_t upcr_put_nb_##K(T d, ptrdiff_t off, const void *s, size_t n) { return __upcr_start_put(d, off, s, n, 0); } \
__UPCR_IN upcr_handle_t upcr_get_nb_##K(void *d, T s, ptrdiff_t off, size_t n) { return __upcr_start_get(d, s, off, n, 0); } \
__UPCR_IN upcr_handle_t upcr_put_nb_##K##_val(T d, ptrdiff_t off, upcr_register_value_t v, size_t n) { return __upcr_start_put_val(d, off, v, n, 0); } \
__UPCR_IN void upcr_put_nbi_##K(T d, ptrdiff_t off, const void *s, size_t n) { __upcr_start_put(d, off, s, n, 1); } \
__UPCR_IN void upcr_get_nbi_##K(void *d, T s, ptrdiff_t off, size_t n) { __upcr_start_get(d, s, off, n, 1); } \
__UPCR_IN void upcr_put_nbi_##K##_val(T d, ptrdiff_t off, upcr_register_value_t v, size_t n) { __upcr_start_put_val(d, off, v, n, 1); } \
__UPCR_IN upcr_handle_t upcr_put_nb_##K##_strict(T d, ptrdiff_t off, const void *s, size_t n) { upcr_put_##K##_strict(d, off, s, n); return 0; } \
__UPCR_IN upcr_handle_t upcr_get_nb_##K##_strict(void *d, T s, ptrdiff_t off, size_t n) { upcr_get_##K##_strict(d, s, off, n); return 0; } \
__UPCR_IN upcr_handle_t upcr_put_nb_##K##_val_strict(T d, ptrdiff_t off, upcr_register_value_t v, size_t n) { upcr_put_##K##_val_strict(d, off, v, n); return 0; }
__UPCR_STARTED(shared, upcr_shared_ptr_t)
__UPCR_STARTED(pshared, upcr_pshared_ptr_t)
__UPCR_IN upcr_register_value_t upcr_wait_syncnb_valget(upcr_valget_handle_t h) { return h.__v; }

/* ---- completion; a region is complete when it ends ---- */
__UPCR_IN void upcr_wait_syncnb(upcr_handle_t h) { __upc_sync(h, 1); }
__UPCR_IN int upcr_try_syncnb(upcr_handle_t h) { return __upc_sync(h, 0); }
__UPCR_IN void upcr_wait_syncnb_strict(upcr_handle_t h) { __upc_sync(h, 1); __upc_fence(); }
__UPCR_IN int upcr_try_syncnb_strict(upcr_handle_t h) { return __upc_sync(h, 0) ? __upc_fence(), 1 : 0; }
__UPCR_IN void upcr_wait_syncnb_all(upcr_handle_t *h, size_t n) { __upc_sync_list(h, n, 1, 1); }
__UPCR_IN int upcr_try_syncnb_all(upcr_handle_t *h, size_t n) { return __upc_sync_list(h, n, 1, 0); }
__UPCR_IN void upcr_wait_syncnb_some(upcr_handle_t *h, size_t n) { __upc_sync_list(h, n, 0, 1); }
__UPCR_IN int upcr_try_syncnb_some(upcr_handle_t *h, size_t n) { return __upc_sync_list(h, n, 0, 0); }
#define upcr_wait_syncnbi_gets() ((void)__upc_synci(0, 1, 1))
#define upcr_wait_syncnbi_puts() ((void)__upc_synci(1, 0, 1))
#define upcr_wait_syncnbi_all() ((void)__upc_synci(1, 1, 1))
#define upcr_try_syncnbi_gets() __upc_synci(0, 1, 0)
#define upcr_try_syncnbi_puts() __upc_synci(1, 0, 0)
#define upcr_try_syncnbi_all() __upc_synci(1, 1, 0)
#define upcr_begin_nbi_accessregion() ((void)0)
#define upcr_end_nbi_accessregion() ((void)__upc_synci(1, 1, 1), UPCR_INVALID_HANDLE)
#define upcr_waitsync(h) upcr_wait_syncnb(h)
#define upcr_trysync(h) upcr_try_syncnb(h)
#define upcrt_memput_nb(dst, src, n) \
       (upcri_srcpos(), _upcrt_memput_nb(dst, src, n))
/* an object of a type: reads yield it, writes take it */
#define __UPCR_GET_TYPE(f, p, off, type) __extension__({ type __upcr_v; f(&__upcr_v, p, off, sizeof(type)); __upcr_v; })
#define __UPCR_PUT_TYPE(f, p, off, type, v) __extension__({ type __upcr_v = (v); f(p, off, &__upcr_v, sizeof(type)); (void)0; })
#define upcr_get_shared_type(p, off, type) __UPCR_GET_TYPE(upcr_get_shared, p, off, type)
#define upcr_get_shared_type_strict(p, off, type) __UPCR_GET_TYPE(upcr_get_shared_strict, p, off, type)
#define upcr_get_pshared_type(p, off, type) __UPCR_GET_TYPE(upcr_get_pshared, p, off, type)
#define upcr_get_pshared_type_strict(p, off, type) __UPCR_GET_TYPE(upcr_get_pshared_strict, p, off, type)
#define upcr_put_shared_type(p, off, v, type) __UPCR_PUT_TYPE(upcr_put_shared, p, off, type, v)
#define upcr_put_shared_type_strict(p, off, v, type) __UPCR_PUT_TYPE(upcr_put_shared_strict, p, off, type, v)
#define upcr_put_pshared_type(p, off, v, type) __UPCR_PUT_TYPE(upcr_put_pshared, p, off, type, v)
#define upcr_put_pshared_type_strict(p, off, v, type) __UPCR_PUT_TYPE(upcr_put_pshared_strict, p, off, type, v)

/* ---- bulk ---- */
__UPCR_IN void upcr_memget(void *d, upcr_shared_ptr_t s, size_t n) { __upcr_get(d, s, 0, n); }
__UPCR_IN void upcr_memput(upcr_shared_ptr_t d, const void *s, size_t n) { __upcr_put(d, 0, s, n); }
__UPCR_IN void upcr_memcpy(upcr_shared_ptr_t d, upcr_shared_ptr_t s, size_t n)
{
  struct __upc_w a = __upcr_u(d), b = __upcr_u(s);
  __upc_copy((unsigned)a.t, a.o, (unsigned)b.t, b.o, n);
}
__UPCR_IN void upcr_memset(upcr_shared_ptr_t d, int c, size_t n)
{
  struct __upc_w a = __upcr_u(d);
  __upc_set((unsigned)a.t, a.o, c, n);
}
#define upcr_nb_memget(d, s, n) __upc_memget_nb(d, s, n, 0)
#define upcr_nb_memput(d, s, n) __upc_memput_nb(d, s, n, 0)
#define upcr_nb_memcpy(d, s, n) __upc_memcpy_nb(d, s, n, 0)
#define upcr_nb_memset(d, c, n) __upc_memset_nb(d, c, n, 0)
#define upcr_nbi_memget(d, s, n) ((void)__upc_memget_nb(d, s, n, 1))
#define upcr_nbi_memput(d, s, n) ((void)__upc_memput_nb(d, s, n, 1))
#define upcr_nbi_memcpy(d, s, n) ((void)__upc_memcpy_nb(d, s, n, 1))
#define upcr_nbi_memset(d, c, n) ((void)__upc_memset_nb(d, c, n, 1))
#define upcr_memget_nb(d, s, n) upcr_nb_memget(d, s, n)
#define upcr_memput_nb(d, s, n) upcr_nb_memput(d, s, n)
#define upcr_memcpy_nb(d, s, n) upcr_nb_memcpy(d, s, n)
#define upcr_memset_nb(d, c, n) upcr_nb_memset(d, c, n)

/* ---- memory, locks, barrier ---- */
__UPCR_IN upcr_shared_ptr_t upcr_alloc(size_t n)
{
  unsigned long o = __upc_alloc_local(n);
  return __upcr_p(o, o ? __upc_rt.mythread : 0, 0);
}
__UPCR_IN upcr_shared_ptr_t upcr_global_alloc(size_t nblocks, size_t blocksz) { return __upcr_p(__upc_alloc_global(nblocks, blocksz, 0), 0, 0); }
__UPCR_IN upcr_shared_ptr_t upcr_all_alloc(size_t nblocks, size_t blocksz) { return __upcr_p(__upc_alloc_global(nblocks, blocksz, 1), 0, 0); }
#define __UPCR_TO(f, p, more) do { struct __upc_w __w = __upcr_u(p); f((unsigned)__w.t, __w.o more); } while (0)
#define __UPCR_ARG(x) , x
__UPCR_IN void upcr_free(upcr_shared_ptr_t p) { __UPCR_TO(__upc_free, p, __UPCR_ARG(0)); }
__UPCR_IN void upcr_all_free(upcr_shared_ptr_t p) { __UPCR_TO(__upc_free, p, __UPCR_ARG(1)); }
__UPCR_IN upcr_shared_ptr_t upcr_global_lock_alloc(void)
{
  unsigned t;
  unsigned long o = __upc_lock_alloc(0, &t);
  return __upcr_p(o, t, 0);
}
__UPCR_IN upcr_shared_ptr_t upcr_all_lock_alloc(void)
{
  unsigned t;
  unsigned long o = __upc_lock_alloc(1, &t);
  return __upcr_p(o, t, 0);
}
__UPCR_IN void upcr_lock_free(upcr_shared_ptr_t p) { __UPCR_TO(__upc_lock_free, p, __UPCR_ARG(0)); }
__UPCR_IN void upcr_all_lock_free(upcr_shared_ptr_t p) { __UPCR_TO(__upc_lock_free, p, __UPCR_ARG(1)); }
__UPCR_IN void upcr_lock(upcr_shared_ptr_t p) { __UPCR_TO(__upc_lock, p, ); }
__UPCR_IN void upcr_unlock(upcr_shared_ptr_t p) { __UPCR_TO(__upc_unlock, p, ); }
__UPCR_IN int upcr_lock_attempt(upcr_shared_ptr_t p)
{
  struct __upc_w w = __upcr_u(p);
  return __upc_lock_attempt((unsigned)w.t, w.o);
}
int __upcr_try_wait(int value, int named);
#define upcr_notify(v, flags) __upc_notify(v, !((flags) & UPCR_BARRIERFLAG_ANONYMOUS))
#define upcr_wait(v, flags) __upc_wait(v, !((flags) & UPCR_BARRIERFLAG_ANONYMOUS))
#define upcr_try_wait(v, flags) __upcr_try_wait(v, !((flags) & UPCR_BARRIERFLAG_ANONYMOUS))
#define upcr_barrier(v, flags) __upc_barrier(v, !((flags) & UPCR_BARRIERFLAG_ANONYMOUS))
#define upcr_poll() __upc_fence()
#define upcr_poll_nofence() __upc_poll()

/* ---- data of one thread: plain C data, since every thread is a process ---- */
#define UPCR_TLD_DEFINE(name, size, align) name
#define UPCR_TLD_DEFINE_TENTATIVE(name, size, align) name __attribute__((__common__))
#define UPCR_TLD_ADDR(name) ((void *)&(name))

/* ---- static shared data ---- */
typedef struct {
  upcr_shared_ptr_t *sptr_addr;
  size_t blockbytes, numblocks;
  int mult_by_threads;
  size_t elemsz;
  const char *namestr, *typestr;
} upcr_startup_shalloc_t;
typedef struct {
  upcr_pshared_ptr_t *psptr_addr;
  size_t blockbytes, numblocks;
  int mult_by_threads;
  size_t elemsz;
  const char *namestr, *typestr;
} upcr_startup_pshalloc_t;
typedef struct upcr_startup_arrayinit_diminfo {
  size_t local_elems, shared_elems;
  int mult_by_threads;
} upcr_startup_arrayinit_diminfo_t;
/* token for token what translated files define themselves */
  #define UPCRT_STARTUP_SHALLOC(sptr, blockbytes, numblocks, mult_by_threads, elemsz, typestr) \
      { &(sptr), (blockbytes), (numblocks), (mult_by_threads), (elemsz), #sptr, (typestr) }
#define UPCRT_STARTUP_PSHALLOC UPCRT_STARTUP_SHALLOC
/* collective: every variable gets its memory, zeros unless it has an initial value */
__UPCR_IN void upcr_startup_pshalloc(upcr_startup_pshalloc_t *v, size_t count)
{
  size_t i;
  for (i = 0; i < count; i++) {
    size_t blocks = v[i].numblocks * (v[i].mult_by_threads ? __upc_rt.threads : 1);
    int init = upcr_is_init_pshared(*v[i].psptr_addr);
    upcr_pshared_ptr_t p;
    if (!init && !upcr_isnull_pshared(*v[i].psptr_addr))
      continue;   /* a tentative definition that another file has allocated */
    p = upcr_all_alloc(blocks, v[i].blockbytes);
    if (!upcr_isnull_pshared(p) && !init)
      memset(__upc_mine(__upcr_u(p).o), 0, (blocks + __upc_rt.threads - 1) / __upc_rt.threads * v[i].blockbytes);
    *v[i].psptr_addr = p;
  }
}
__UPCR_IN void upcr_startup_shalloc(upcr_startup_shalloc_t *v, size_t count)
{
  size_t i;
  for (i = 0; i < count; i++) {
    upcr_startup_pshalloc_t one = { v[i].sptr_addr, v[i].blockbytes, v[i].numblocks, v[i].mult_by_threads, v[i].elemsz,
                                    v[i].namestr, v[i].typestr };
    upcr_startup_pshalloc(&one, 1);
  }
}
/* every thread initialises the elements that are its own from a private copy of the initialiser (src NULL: zeros): dimension
 * by dimension the initialiser has local_elems elements, the shared array shared_elems (times the threads where so marked),
 * and the rest are zeros */
__UPCR_IN void upcr_startup_initarray(upcr_shared_ptr_t dst, void *src, upcr_startup_arrayinit_diminfo_t *dim, size_t dimcnt,
                                      size_t elembytes, size_t blockelems)
{
  size_t total = 1, i, d;
  for (d = 0; d < dimcnt; d++)
    total *= dim[d].shared_elems * (dim[d].mult_by_threads ? __upc_rt.threads : 1);
  for (i = 0; i < total; i++) {
    struct __upc_w w = __upc_add(__upcr_u(dst), (long)i, blockelems, elembytes);
    size_t rest = i, at = 0, step = 1;
    int inside = src != NULL;
    if (w.t != __upc_rt.mythread)
      continue;
    for (d = dimcnt; d-- > 0;) {
      size_t n = dim[d].shared_elems * (dim[d].mult_by_threads ? __upc_rt.threads : 1), index = rest % n;
      rest /= n;
      inside = inside && index < dim[d].local_elems;
      at += index * step;
      step *= dim[d].local_elems;
    }
    if (inside)
      memcpy(__upc_at(w), (char *)src + at * elembytes, elembytes);
    else
      memset(__upc_at(w), 0, elembytes);
  }
}
#define upcr_startup_initparray(dst, src, dim, dimcnt, elembytes, blockelems) \
  upcr_startup_initarray(dst, src, dim, dimcnt, elembytes, blockelems)

#include "upcr_lib.h"

/* ---- names of UPC that translated code may use directly ---- */
#define upc_global_exit(status) upcr_global_exit(status)
#define upc_alloc(n) upcr_alloc(n)
#define upc_global_alloc(nblocks, n) upcr_global_alloc(nblocks, n)
#define upc_all_alloc(nblocks, n) upcr_all_alloc(nblocks, n)
#define upc_free(p) upcr_free(p)
#define upc_all_free(p) upcr_all_free(p)
#define upc_threadof(p) upcr_threadof_shared(p)
#define upc_phaseof(p) upcr_phaseof_shared(p)
#define upc_addrfield(p) upcr_addrfield_shared(p)
#define upc_affinitysize(total, n, t) upcr_affinitysize(total, n, t)
#define upc_resetphase(p) upcr_shared_resetphase(p)
#define upc_global_lock_alloc() upcr_global_lock_alloc()
#define upc_all_lock_alloc() upcr_all_lock_alloc()
#define upc_lock_free(p) upcr_lock_free(p)
#define upc_all_lock_free(p) upcr_all_lock_free(p)
#define upc_lock(p) upcr_lock(p)
#define upc_lock_attempt(p) upcr_lock_attempt(p)
#define upc_unlock(p) upcr_unlock(p)
#define upc_memget(d, s, n) upcr_memget(d, s, n)
#define upc_memput(d, s, n) upcr_memput(d, s, n)
#define upc_memcpy(d, s, n) upcr_memcpy(d, s, n)
#define upc_memset(d, c, n) upcr_memset(d, c, n)
#define upc_cast(p) upcr_cast(p)
#define upc_thread_info(t) upcr_thread_info(t)
#define bupc_poll() upcr_poll_nofence()
#define upc_poll() upcr_poll_nofence()

#ifdef __cplusplus
}
#endif
#endif
