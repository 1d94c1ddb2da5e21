/* What this library was built as: versions, page and cache sizes, segment mode, and the
 * feature names that GASNet clients test. The thread mode is the client's choice, made
 * with GASNET_SEQ, GASNET_PARSYNC or GASNET_PAR. */
#ifndef _GASNET_CONFIG_H
#define _GASNET_CONFIG_H
#define _INCLUDED_GASNET_CONFIG_H 1

#include "gasnet_portable_platform.h"

#define GASNETI_STR_(x) #x
#define GASNETI_STR(x) GASNETI_STR_(x)
#define GASNETI_PASTE_(a, b) a##b
#define GASNETI_PASTE(a, b) GASNETI_PASTE_(a, b)

/* Versions: the specifications of GASNet-1, of the tools and of GASNet-EX, and the release of GASNet-EX whose interface this is. */
#define GASNETI_SPEC_VERSION_MAJOR 1
#define GASNETI_SPEC_VERSION_MINOR 8
#define GASNETIT_SPEC_VERSION_MAJOR 1
#define GASNETIT_SPEC_VERSION_MINOR 20
/* Build systems read these lines: no string, no other macro. */
#define GASNETI_EX_SPEC_VERSION_MAJOR 0
#define GASNETI_EX_SPEC_VERSION_MINOR 19
#define GASNET_RELEASE_VERSION_MAJOR 2025
#define GASNET_RELEASE_VERSION_MINOR 8
#define GASNET_RELEASE_VERSION_PATCH 0
#define GASNETI_RELEASE_VERSION 2025.8.0

/* Segment mode: FAST, unless the client asks for EVERYTHING (the -everything
 * pkg-config files do). Every object of a program must agree. */
#if defined(GASNET_SEGMENT_EVERYTHING)
  #undef GASNET_SEGMENT_EVERYTHING
  #define GASNET_SEGMENT_EVERYTHING 1
  #define GASNETI_SEGMENT_NAME EVERYTHING
#elif defined(GASNET_SEGMENT_LARGE)
  #undef GASNET_SEGMENT_LARGE
  #define GASNET_SEGMENT_LARGE 1
  #define GASNETI_SEGMENT_NAME LARGE
#else
  #undef GASNET_SEGMENT_FAST
  #define GASNET_SEGMENT_FAST 1
  #define GASNETI_SEGMENT_NAME FAST
#endif

/* Debug mode: a program with an object that was compiled with it runs as with GASNET_CHECK=1. */
#ifdef GASNET_DEBUG
  #undef GASNET_DEBUG
  #undef GASNET_NDEBUG
  #define GASNET_DEBUG 1
  #define GASNETI_DEBUG_NAME debug
#else
  #undef GASNET_NDEBUG
  #define GASNET_NDEBUG 1
  #define GASNETI_DEBUG_NAME nodebug
#endif

#if PLATFORM_ARCH_64
  #define GASNETI_PTR_CONFIG 64bit
  #define GASNETI_PTR_BITS 64
#else
  #define GASNETI_PTR_CONFIG 32bit
  #define GASNETI_PTR_BITS 32
#endif

/* Sizes of C's types, under the plain names that clients test. */
#ifndef SIZEOF_INT
  #define SIZEOF_CHAR 1
  #define SIZEOF_SHORT __SIZEOF_SHORT__
  #define SIZEOF_INT __SIZEOF_INT__
  #define SIZEOF_LONG __SIZEOF_LONG__
  #define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
  #define SIZEOF_FLOAT __SIZEOF_FLOAT__
  #define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
  #define SIZEOF_VOID_P __SIZEOF_POINTER__
  #define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
  #define SIZEOF_PTRDIFF_T __SIZEOF_PTRDIFF_T__
#endif

#define GASNETI_PAGESHIFT 12
#define GASNETI_PAGESIZE 4096
#define GASNETI_CACHE_LINE_BYTES 64
#define GASNETI_MAX_THREADS 256
#define GASNET_PSHM 1
#define GASNETI_PSHM_ENABLED 1

#if PLATFORM_ARCH_X86_64
  #define GASNETI_SYSTEM_TUPLE "x86_64-unknown-linux-gnu"
#elif PLATFORM_ARCH_AARCH64
  #define GASNETI_SYSTEM_TUPLE "aarch64-unknown-linux-gnu"
#else
  #define GASNETI_SYSTEM_TUPLE GASNETI_STR(PLATFORM_ARCH_FAMILYNAME) "-unknown-linux-gnu"
#endif
#define GASNETI_CONFIGURE_ARGS "cargo xtask install"

/* System features, under the plain names that clients test. */
#ifndef HAVE_PTHREAD_H
  #define HAVE_PTHREAD_H 1
#endif
#ifndef HAVE_MMAP
  #define HAVE_MMAP 1
#endif
/* declared by <pthread.h> only when the client asks for X/Open or GNU names */
#if !defined(HAVE_PTHREAD_SETCONCURRENCY) && defined(_GNU_SOURCE)
  #define HAVE_PTHREAD_SETCONCURRENCY 1
#endif

/* GASNet-EX: what this library has beyond what must be there. */
#define GASNET_SUPPORTS_AM_CANCEL 20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2 20240906L
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_EP 1
#define GASNET_SUPPORTS_TI_ENTRY 1
#define GASNET_SUPPORTS_TI_IS_REQ 1
#define GASNET_SUPPORTS_TI_IS_LONG 1
/* prepared messages are made where the network sends them from */
#define GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM 1
#define GASNET_NATIVE_NP_ALLOC_REP_MEDIUM 1
#define GASNET_NATIVE_NP_ALLOC_REQ_LONG 1
#define GASNET_NATIVE_NP_ALLOC_REP_LONG 1
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0

#endif
