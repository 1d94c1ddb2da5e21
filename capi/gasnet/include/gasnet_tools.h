/* GASNet tools: timers, memory barriers, atomics, locks, thread keys, environment and
 * system helpers. Usable with or without gasnet.h and gasnetex.h; a program of theirs may include it first.
 * Fast things are inline; the functions declared extern are in libgasnet. */
#if !defined(_INCLUDED_GASNETEX_H) && \
    (defined(GASNET_SEQ) || defined(GASNET_PARSYNC) || defined(GASNET_PAR))
  #include "gasnetex.h"
#endif
#ifndef _GASNET_TOOLS_H
#define _GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H 1

#include "gasnet_basic.h"
#include "gasnet_membar.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A client may declare itself threaded with GASNETT_THREAD_SAFE; the locks and atomics
 * here are real ones either way, so the name only selects the tools' mode string. */
#if defined(GASNETT_LITE_MODE)
  #define GASNETT_THREAD_MODEL LITE
#elif defined(GASNETT_THREAD_SAFE) || defined(GASNET_PARSYNC) || defined(GASNET_PAR) || \
    (!defined(GASNET_SEQ) && (defined(_REENTRANT) || defined(_THREAD_SAFE) || \
                              defined(PTHREAD_MUTEX_INITIALIZER)))
  #undef GASNETT_THREAD_SAFE
  #define GASNETT_THREAD_SAFE 1
  #define GASNETT_THREAD_MODEL PAR
#else
  #define GASNETT_THREAD_MODEL SEQ
#endif

#define GASNETT_SPEC_VERSION_MAJOR GASNETIT_SPEC_VERSION_MAJOR
#define GASNETT_SPEC_VERSION_MINOR GASNETIT_SPEC_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH

GASNETT_BEGIN_EXTERNC

/* ---- timers ---------------------------------------------------------------------- */
typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX ((gasnett_tick_t)-1)
#define GASNETT_TIMER_CONFIG timers_native

/* 0: not yet known, 1: the processor's counter is steady and is used, 2: the system clock */
extern int gasneti_tick_source;
extern uint64_t gasneti_ticks_slow(void);
extern uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks);
extern uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks);
extern double gasnett_tick_granularityus(void);
extern double gasnett_tick_overheadus(void);
extern uint64_t gasnett_gettimeofday_us(void);

GASNETT_INLINE(gasnett_ticks_now)
gasnett_tick_t gasnett_ticks_now(void) {
#if defined(__x86_64__)
  if (GASNETT_PREDICT_TRUE(__atomic_load_n(&gasneti_tick_source, __ATOMIC_RELAXED) == 1)) {
    gasnett_tick_t t = __builtin_ia32_rdtsc();
    gasnett_compiler_fence();
    return t;
  }
#endif
  return gasneti_ticks_slow();
}

/* ---- locks ------------------------------------------------------------------------ */
#define gasnett_mutex_t pthread_mutex_t
#define GASNETT_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define gasnett_mutex_init(pl) ((void)pthread_mutex_init((pl), NULL))
#define gasnett_mutex_destroy(pl) ((void)pthread_mutex_destroy(pl))
#define gasnett_mutex_destroy_ignoreerr(pl) pthread_mutex_destroy(pl)
#define gasnett_mutex_lock(pl) ((void)pthread_mutex_lock(pl))
#define gasnett_mutex_trylock(pl) pthread_mutex_trylock(pl)
#define gasnett_mutex_unlock(pl) ((void)pthread_mutex_unlock(pl))
#define gasnett_mutex_assertlocked(pl) ((void)(pl))
#define gasnett_mutex_assertunlocked(pl) ((void)(pl))

#define gasnett_cond_t pthread_cond_t
#define GASNETT_COND_INITIALIZER PTHREAD_COND_INITIALIZER
#define gasnett_cond_init(pc) ((void)pthread_cond_init((pc), NULL))
#define gasnett_cond_destroy(pc) ((void)pthread_cond_destroy(pc))
#define gasnett_cond_wait(pc, pl) ((void)pthread_cond_wait((pc), (pl)))
#define gasnett_cond_signal(pc) ((void)pthread_cond_signal(pc))
#define gasnett_cond_broadcast(pc) ((void)pthread_cond_broadcast(pc))

/* <pthread.h> hides the rwlocks from strict ISO C unless POSIX is asked for */
#ifdef PTHREAD_RWLOCK_INITIALIZER
  #define gasnett_rwlock_t pthread_rwlock_t
  #define GASNETT_RWLOCK_INITIALIZER PTHREAD_RWLOCK_INITIALIZER
  #define gasnett_rwlock_init(pl) ((void)pthread_rwlock_init((pl), NULL))
  #define gasnett_rwlock_destroy(pl) ((void)pthread_rwlock_destroy(pl))
  #define gasnett_rwlock_rdlock(pl) \
    do { } while (pthread_rwlock_rdlock(pl) == EAGAIN)
  #define gasnett_rwlock_wrlock(pl) ((void)pthread_rwlock_wrlock(pl))
  #define gasnett_rwlock_tryrdlock(pl) pthread_rwlock_tryrdlock(pl)
  #define gasnett_rwlock_trywrlock(pl) pthread_rwlock_trywrlock(pl)
  #define gasnett_rwlock_unlock(pl) ((void)pthread_rwlock_unlock(pl))
  #define gasnett_rwlock_assertlocked(pl) ((void)(pl))
  #define gasnett_rwlock_assertrdlocked(pl) ((void)(pl))
  #define gasnett_rwlock_assertwrlocked(pl) ((void)(pl))
  #define gasnett_rwlock_assertunlocked(pl) ((void)(pl))
#endif

/* ---- thread keys: one pointer per thread ------------------------------------------- */
#define GASNETT_THREADKEY_DECLARE(key) extern __thread void *gasneti_threadkey_##key
#define GASNETT_THREADKEY_DEFINE(key) __thread void *gasneti_threadkey_##key = NULL
/* A key needs no start. Realm names this function and _gasnett_trace_printf_noop, lest compilers call them
 * unused. */
static void _gasneti_threadkey_init(void) GASNETT_UNUSED;
static void _gasneti_threadkey_init(void) {
}
#define gasnett_threadkey_init(key) _gasneti_threadkey_init()
#define gasnett_threadkey_get_noinit(key) (gasneti_threadkey_##key)
#define gasnett_threadkey_set_noinit(key, val) ((void)(gasneti_threadkey_##key = (val)))
#define gasnett_threadkey_get(key) gasnett_threadkey_get_noinit(key)
#define gasnett_threadkey_set(key, val) gasnett_threadkey_set_noinit(key, val)

/* ---- environment -------------------------------------------------------------------- */
/* Numbers as text. With mem_size_multiplier != 0 the text may end in a unit (B, KB, MB,
 * GB, TB, PB); without one, the value is multiplied by mem_size_multiplier. */
extern char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);
extern int64_t gasnett_parse_int(const char *str, uint64_t mem_size_multiplier);
extern void gasnett_setenv(const char *key, const char *value);
extern void gasnett_unsetenv(const char *key);
extern char *gasnett_getenv(const char *key);
extern char *gasnett_getenv_withdefault(const char *key, const char *defaultval);
extern int gasnett_getenv_yesno_withdefault(const char *key, int defaultval);
extern int64_t gasnett_getenv_int_withdefault(const char *key, int64_t defaultval,
                                              uint64_t mem_size_multiplier);
extern double gasnett_getenv_dbl_withdefault(const char *key, double defaultval);
extern int gasnett_verboseenv(void);
extern void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size);
extern void gasnett_envstr_display(const char *key, const char *val, int is_dflt);
extern void gasnett_envdbl_display(const char *key, double val, int is_dflt);

/* ---- constants of GASNet-EX as text ---------------------------------------------------- */
/* Each writes a set of GEX_DT_, GEX_OP_ or GEX_TI_ with its final NUL and returns the bytes this takes; with a
 * null pointer it only counts them. */
extern size_t gasnett_format_dt(char *buf, uint32_t types);
extern size_t gasnett_format_op(char *buf, uint32_t operations);
extern size_t gasnett_format_ti(char *buf, uint32_t fields);

/* ---- system ------------------------------------------------------------------------- */
typedef void (*gasnett_sighandlerfn_t)(int);
extern gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t fn);
extern int gasnett_cpu_count(void);
extern uint64_t gasnett_getPhysMemSz(int failure_is_fatal);
extern void gasnett_flush_streams(void);
extern void gasnett_close_streams(void);
extern void gasnett_killmyprocess(int exitcode) GASNETT_NORETURN;
extern uint64_t gasnett_checksum(const void *p, size_t numbytes);
/* 0 if the calling thread now runs on the processor that is the caller's turn */
#define GASNETT_SET_AFFINITY_SUPPORT 1
extern int gasnett_set_affinity(int rank);
extern const char *gasnett_gethostname(void);
extern const char *gasnett_exe_name(void);
extern const char *gasnett_performance_warning_str(void);
extern int gasnett_maximize_rlimit(int res, const char *lim_desc);
extern void gasnett_maximize_rlimits(void);
extern int gasnett_nsleep(uint64_t ns_delay);
extern void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagsymname);
extern void gasnett_freezeForDebuggerErr(void);
extern void *gasnett_mmap(uintptr_t sz);
extern void gasneti_fatal(const char *message) GASNETT_NORETURN;
#define gasnett_sched_yield() sched_yield()
/* major * 1000000 + minor * 10000 + patch, as GASNet-EX has it */
#define gasnett_release_version()                                                       \
  ((uint64_t)GASNETT_RELEASE_VERSION_MAJOR * 1000000 +                                  \
   (uint64_t)GASNETT_RELEASE_VERSION_MINOR * 10000 + (uint64_t)GASNETT_RELEASE_VERSION_PATCH)
#define gasnett_release_version_str() GASNETI_STR(GASNETI_RELEASE_VERSION)
#define gasnett_current_loc (__FILE__ ":" _STRINGIFY(__LINE__))
#ifdef PLATFORM_ARCH_LITTLE_ENDIAN
  #define gasnett_isLittleEndian() 1
#else
  #define gasnett_isLittleEndian() 0
#endif

/* Ends the whole job with "*** FATAL ERROR: ..." */
static void gasnett_fatalerror(const char *format, ...) GASNETT_NORETURN GASNETT_UNUSED
  __attribute__((__format__(__printf__, 1, 2)));
static void gasnett_fatalerror(const char *format, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, format);
  (void)vsnprintf(text, sizeof(text), format, ap);
  va_end(ap);
  gasneti_fatal(text);
}

#define gasnett_fatalerror_nopos gasnett_fatalerror

/* ---- backtraces --------------------------------------------------------------------- */
typedef struct {
  const char *name;
  int (*fnp)(int fd); /* 0 when it printed something */
  int threadsupport;
} gasnett_backtrace_type_t;
/* A client may define this variable; the weak reference is null otherwise. */
extern gasnett_backtrace_type_t gasnett_backtrace_user __attribute__((__weak__));
extern void gasneti_backtrace_init(const char *exename, const gasnett_backtrace_type_t *user);
extern int gasnett_print_backtrace(int fd);
extern int gasnett_print_backtrace_ifenabled(int fd);
#define gasnett_backtrace_init(exename) gasneti_backtrace_init((exename), &gasnett_backtrace_user)

/* ---- counting zero bytes --------------------------------------------------------------- */
extern size_t gasnett_count0s(const void *src, size_t bytes);
extern size_t gasnett_count0s_copy(void *GASNETT_RESTRICT dst, const void *GASNETT_RESTRICT src,
                                   size_t bytes);
GASNETT_INLINE(gasnett_count0s_uint32_t)
int gasnett_count0s_uint32_t(uint32_t x) {
  return !(x & 0xFFU) + !(x & 0xFF00U) + !(x & 0xFF0000U) + !(x & 0xFF000000U);
}
GASNETT_INLINE(gasnett_count0s_uint64_t)
int gasnett_count0s_uint64_t(uint64_t x) {
  return gasnett_count0s_uint32_t((uint32_t)x) + gasnett_count0s_uint32_t((uint32_t)(x >> 32));
}
GASNETT_INLINE(gasnett_count0s_uintptr_t)
int gasnett_count0s_uintptr_t(uintptr_t x) {
  return sizeof(x) == 8 ? gasnett_count0s_uint64_t((uint64_t)x)
                        : gasnett_count0s_uint32_t((uint32_t)x);
}

/* ---- heap helpers: the plain heap (no debugging allocator is built in) ---------------- */
typedef struct {
  uint64_t allocated_bytes, allocated_objects;
  uint64_t freed_bytes, freed_objects;
  uint64_t live_bytes, live_objects;
  uint64_t live_bytes_max, live_objects_max;
  uint64_t overhead_bytes;
} gasnett_heapstats_t;
extern int gasneti_getheapstats(gasnett_heapstats_t *stats);
extern char *gasneti_strndup(const char *s, size_t n);
extern void *gasneti_malloc_aligned(size_t align, size_t size);
#define gasnett_getheapstats(pstat) gasneti_getheapstats(pstat)
#define gasnett_debug_malloc(sz) malloc(sz)
#define gasnett_debug_calloc(n, s) calloc((n), (s))
#define gasnett_debug_realloc(p, sz) realloc((p), (sz))
#define gasnett_debug_free(p) free(p)
#define gasnett_debug_strdup(s) gasneti_strndup((s), (size_t)-1)
#define gasnett_debug_strndup(s, n) gasneti_strndup((s), (n))
#define gasnett_debug_memcheck(p) ((void)(p))
#define gasnett_debug_memcheck_one() ((void)0)
#define gasnett_debug_memcheck_all() ((void)0)
#define gasnett_malloc_aligned(align, sz) gasneti_malloc_aligned((align), (sz))
#define gasnett_free_aligned(p) free(p)

/* ---- tracing and statistics: not built in, arguments are checked and dropped ----------- */
static void _gasnett_trace_printf_noop(const char *format, ...) GASNETT_UNUSED
  __attribute__((__format__(__printf__, 1, 2)));
static void _gasnett_trace_printf_noop(const char *format, ...) {
  (void)format;
}
#define GASNETT_TRACE_SETSOURCELINE(file, line) ((void)0)
GASNETT_INLINE(gasneti_trace_getsourceline)
void gasneti_trace_getsourceline(const char **file, unsigned int *line) {
  *file = "";
  *line = 0;
}
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) gasneti_trace_getsourceline((pfile), (pline))
#define GASNETT_TRACE_FREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_ENABLED 0
#define GASNETT_TRACE_PRINTF _gasnett_trace_printf_noop
#define GASNETT_TRACE_PRINTF_FORCE _gasnett_trace_printf_noop
#define GASNETT_TRACE_GETMASK() ""
#define GASNETT_TRACE_SETMASK(mask) ((void)(mask))
#define GASNETT_TRACE_GET_TRACELOCAL() (0)
#define GASNETT_TRACE_SET_TRACELOCAL(v) ((void)(v))
#define GASNETT_STATS_INIT(callbackfn) 0
#define GASNETT_STATS_GETMASK() ""
#define GASNETT_STATS_SETMASK(mask) ((void)(mask))
#define GASNETT_STATS_PRINTF _gasnett_trace_printf_noop
#define GASNETT_STATS_PRINTF_FORCE _gasnett_trace_printf_noop
#define GASNETT_STATS_DUMP(reset) ((void)(reset))

/* ---- memory copies by name ------------------------------------------------------------ */
#define GASNETT_FAST_ALIGNED_MEMCPY(d, s, n) ((void)memcpy((d), (s), (n)))
#define GASNETT_FAST_UNALIGNED_MEMCPY(d, s, n) ((void)memcpy((d), (s), (n)))

/* ---- configuration string ---------------------------------------------------------------- */
#define GASNETT_DEBUG_CONFIG GASNETI_DEBUG_NAME
#define GASNETT_PTR_CONFIG GASNETI_PTR_CONFIG
#define GASNETT_CONFIG_STRING                                                       \
  "RELEASE=" GASNETI_STR(GASNETI_RELEASE_VERSION) ",SPEC=" _STRINGIFY(GASNETT_SPEC_VERSION_MAJOR) "." \
  _STRINGIFY(GASNETT_SPEC_VERSION_MINOR) ",PTR=" _STRINGIFY(GASNETI_PTR_CONFIG)      \
  "," _STRINGIFY(GASNETI_DEBUG_NAME) ",timers_native,membars_native,atomics_native,atomic32_native,atomic64_native" \
  ",THREADMODEL=" _STRINGIFY(GASNETT_THREAD_MODEL)

GASNETT_END_EXTERNC

#endif
