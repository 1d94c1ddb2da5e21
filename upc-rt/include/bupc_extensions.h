/* bupc_extensions.h: extensions of Berkeley UPC. Included by upc.h unless BUPC_DISABLE_EXTENSIONS is defined. */
#ifndef _BUPC_EXTENSIONS_H
#define _BUPC_EXTENSIONS_H 1

#include <stddef.h>
#include <stdint.h>

/* progress of the network; no fence */
void bupc_poll(void);
void upc_poll(void);

/* the clock of upc_tick.h under its old names */
typedef uint64_t bupc_tick_t;
#define BUPC_TICK_MAX UINT64_MAX
#define BUPC_TICK_MIN ((bupc_tick_t)0)
bupc_tick_t bupc_ticks_now(void);
uint64_t bupc_ticks_to_us(bupc_tick_t ticks);
uint64_t bupc_ticks_to_ns(bupc_tick_t ticks);
double bupc_tick_granularityus(void);
double bupc_tick_overheadus(void);

/* pointers-to-shared: as text; to and from private addresses; arithmetic with a block size known at run time */
#define BUPC_DUMP_MIN_LENGTH 100
int bupc_dump_shared(shared const void *ptr, char *buf, int maxlen);
#define upc_dump_shared bupc_dump_shared
void *bupc_cast(shared const void *ptr);
int bupc_castable(shared const void *ptr);
int bupc_thread_castable(unsigned int threadnum);
shared void *bupc_inverse_cast(void *ptr);
shared void *bupc_local_to_shared(void *ptr, int thread, int phase);
shared void *bupc_ptradd(shared void *p, size_t blockelems, size_t elemsz, ptrdiff_t elemincr);

/* how far apart two threads are */
#define BUPC_THREADS_SAME     0
#define BUPC_THREADS_VERYNEAR 100
#define BUPC_THREADS_NEAR     200
#define BUPC_THREADS_FAR      300
#define BUPC_THREADS_VERYFAR  400
unsigned int bupc_thread_distance(int threadX, int threadY);

/* the environment is the same on all threads */
char *bupc_getenv(const char *name);
int bupc_system(const char *command);

/* older names */
#define bupc_all_free(ptr) upc_all_free(ptr)
#define bupc_all_lock_free(ptr) upc_all_lock_free(ptr)

/* there is no tracing */
#define bupc_trace_printf(args) ((void)0)
#define bupc_trace_setmask(mask) ((void)(mask))
#define bupc_trace_getmask() ((const char *)"")
#define bupc_trace_gettracelocal() 0
#define bupc_trace_settracelocal(on) ((void)(on))
#define bupc_stats_setmask(mask) ((void)(mask))
#define bupc_stats_getmask() ((const char *)"")

/* ends the calling thread, as exit does */
void bupc_exit(int status);

#include <bupc_atomics.h>
#include <gasnet_tools.h>

/* semaphores: flags 0 means INTEGER, MPRODUCER, MCONSUMER; every call is a fence */
typedef shared void bupc_sem_t;
#include <upcr_preinclude/bupc_extensions_bits.h>

bupc_sem_t *bupc_sem_alloc(int flags);
void bupc_sem_free(bupc_sem_t *s);
void bupc_sem_post(bupc_sem_t *s);
void bupc_sem_postN(bupc_sem_t *s, size_t n);
void bupc_sem_wait(bupc_sem_t *s);
void bupc_sem_waitN(bupc_sem_t *s, size_t n);
int bupc_sem_try(bupc_sem_t *s);
int bupc_sem_tryN(bupc_sem_t *s, size_t n);
void bupc_memput_signal(shared void *dst, const void *src, size_t nbytes, bupc_sem_t *s, size_t n);
void bupc_memput_signal_async(shared void *dst, const void *src, size_t nbytes, bupc_sem_t *s, size_t n);

/* asynchronous copies */
typedef struct __upc_transfer *bupc_handle_t;
#define BUPC_COMPLETE_HANDLE ((bupc_handle_t)0)
#define BUPC_SYNCI_PUTGETS 1
bupc_handle_t bupc_memcpy_async(shared void *dst, shared const void *src, size_t nbytes);
bupc_handle_t bupc_memget_async(void *dst, shared const void *src, size_t nbytes);
bupc_handle_t bupc_memput_async(shared void *dst, const void *src, size_t nbytes);
bupc_handle_t bupc_memset_async(shared void *dst, int c, size_t nbytes);
void bupc_memcpy_asynci(shared void *dst, shared const void *src, size_t nbytes);
void bupc_memget_asynci(void *dst, shared const void *src, size_t nbytes);
void bupc_memput_asynci(shared void *dst, const void *src, size_t nbytes);
void bupc_memset_asynci(shared void *dst, int c, size_t nbytes);
void bupc_waitsync(bupc_handle_t handle);
int bupc_trysync(bupc_handle_t handle);
void bupc_waitsync_all(bupc_handle_t *handles, size_t n);
int bupc_trysync_all(bupc_handle_t *handles, size_t n);
void bupc_waitsync_some(bupc_handle_t *handles, size_t n);
int bupc_trysync_some(bupc_handle_t *handles, size_t n);
void bupc_waitsynci(void);
int bupc_trysynci(void);
void bupc_waitsynci_puts(void);
int bupc_trysynci_puts(void);
void bupc_waitsynci_gets(void);
int bupc_trysynci_gets(void);
void bupc_begin_accessregion(void);
bupc_handle_t bupc_end_accessregion(void);

/* copies of several pieces: both sides have the same number of bytes; each piece is on one thread */
typedef struct { void *addr; size_t len; } bupc_pmemvec_t;
typedef struct { shared void *addr; size_t len; } bupc_smemvec_t;
void bupc_memcpy_vlist(size_t dstcount, bupc_smemvec_t const dstlist[], size_t srccount, bupc_smemvec_t const srclist[]);
void bupc_memcpy_ilist(size_t dstcount, shared void * const dstlist[], size_t dstlen,
    size_t srccount, shared const void * const srclist[], size_t srclen);
void bupc_memcpy_fstrided(shared void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    shared const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
void bupc_memcpy_strided(shared void *dstaddr, const size_t dststrides[], shared const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);
void bupc_memput_vlist(size_t dstcount, bupc_smemvec_t const dstlist[], size_t srccount, bupc_pmemvec_t const srclist[]);
void bupc_memput_ilist(size_t dstcount, shared void * const dstlist[], size_t dstlen,
    size_t srccount, const void * const srclist[], size_t srclen);
void bupc_memput_fstrided(shared void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
void bupc_memput_strided(shared void *dstaddr, const size_t dststrides[], const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);
void bupc_memget_vlist(size_t dstcount, bupc_pmemvec_t const dstlist[], size_t srccount, bupc_smemvec_t const srclist[]);
void bupc_memget_ilist(size_t dstcount, void * const dstlist[], size_t dstlen,
    size_t srccount, shared const void * const srclist[], size_t srclen);
void bupc_memget_fstrided(void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    shared const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
void bupc_memget_strided(void *dstaddr, const size_t dststrides[], shared const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);
bupc_handle_t bupc_memcpy_vlist_async(size_t dstcount, bupc_smemvec_t const dstlist[], size_t srccount, bupc_smemvec_t const srclist[]);
bupc_handle_t bupc_memcpy_ilist_async(size_t dstcount, shared void * const dstlist[], size_t dstlen,
    size_t srccount, shared const void * const srclist[], size_t srclen);
bupc_handle_t bupc_memcpy_fstrided_async(shared void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    shared const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
bupc_handle_t bupc_memcpy_strided_async(shared void *dstaddr, const size_t dststrides[], shared const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);
bupc_handle_t bupc_memput_vlist_async(size_t dstcount, bupc_smemvec_t const dstlist[], size_t srccount, bupc_pmemvec_t const srclist[]);
bupc_handle_t bupc_memput_ilist_async(size_t dstcount, shared void * const dstlist[], size_t dstlen,
    size_t srccount, const void * const srclist[], size_t srclen);
bupc_handle_t bupc_memput_fstrided_async(shared void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
bupc_handle_t bupc_memput_strided_async(shared void *dstaddr, const size_t dststrides[], const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);
bupc_handle_t bupc_memget_vlist_async(size_t dstcount, bupc_pmemvec_t const dstlist[], size_t srccount, bupc_smemvec_t const srclist[]);
bupc_handle_t bupc_memget_ilist_async(size_t dstcount, void * const dstlist[], size_t dstlen,
    size_t srccount, shared const void * const srclist[], size_t srclen);
bupc_handle_t bupc_memget_fstrided_async(void *dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount,
    shared const void *srcaddr, size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount);
bupc_handle_t bupc_memget_strided_async(void *dstaddr, const size_t dststrides[], shared const void *srcaddr,
    const size_t srcstrides[], const size_t count[], size_t stridelevels);

#ifdef BUPC_USE_UPC_NAMESPACE
#define upc_thread_distance bupc_thread_distance
#define upc_sem_t bupc_sem_t
#define upc_sem_alloc bupc_sem_alloc
#define upc_sem_free bupc_sem_free
#define upc_sem_post bupc_sem_post
#define upc_sem_postN bupc_sem_postN
#define upc_sem_wait bupc_sem_wait
#define upc_sem_waitN bupc_sem_waitN
#define upc_sem_try bupc_sem_try
#define upc_sem_tryN bupc_sem_tryN
#define upc_memput_signal bupc_memput_signal
#define upc_memput_signal_async bupc_memput_signal_async
#define upc_memcpy_async bupc_memcpy_async
#define upc_memget_async bupc_memget_async
#define upc_memput_async bupc_memput_async
#define upc_memset_async bupc_memset_async
#define upc_memcpy_asynci bupc_memcpy_asynci
#define upc_memget_asynci bupc_memget_asynci
#define upc_memput_asynci bupc_memput_asynci
#define upc_memset_asynci bupc_memset_asynci
#define upc_waitsync bupc_waitsync
#define upc_trysync bupc_trysync
#define upc_waitsync_all bupc_waitsync_all
#define upc_trysync_all bupc_trysync_all
#define upc_waitsync_some bupc_waitsync_some
#define upc_trysync_some bupc_trysync_some
#define upc_waitsynci bupc_waitsynci
#define upc_trysynci bupc_trysynci
#define upc_waitsynci_puts bupc_waitsynci_puts
#define upc_trysynci_puts bupc_trysynci_puts
#define upc_waitsynci_gets bupc_waitsynci_gets
#define upc_trysynci_gets bupc_trysynci_gets
#define upc_begin_accessregion bupc_begin_accessregion
#define upc_end_accessregion bupc_end_accessregion
#define upc_castable bupc_castable
#define upc_thread_castable bupc_thread_castable
#define upc_inverse_cast bupc_inverse_cast
#define upc_smemvec_t bupc_smemvec_t
#define upc_pmemvec_t bupc_pmemvec_t
#define upc_memcpy_vlist bupc_memcpy_vlist
#define upc_memcpy_vlist_async bupc_memcpy_vlist_async
#define upc_memcpy_ilist bupc_memcpy_ilist
#define upc_memcpy_ilist_async bupc_memcpy_ilist_async
#define upc_memcpy_fstrided bupc_memcpy_fstrided
#define upc_memcpy_fstrided_async bupc_memcpy_fstrided_async
#define upc_memcpy_strided bupc_memcpy_strided
#define upc_memcpy_strided_async bupc_memcpy_strided_async
#define upc_memput_vlist bupc_memput_vlist
#define upc_memput_vlist_async bupc_memput_vlist_async
#define upc_memput_ilist bupc_memput_ilist
#define upc_memput_ilist_async bupc_memput_ilist_async
#define upc_memput_fstrided bupc_memput_fstrided
#define upc_memput_fstrided_async bupc_memput_fstrided_async
#define upc_memput_strided bupc_memput_strided
#define upc_memput_strided_async bupc_memput_strided_async
#define upc_memget_vlist bupc_memget_vlist
#define upc_memget_vlist_async bupc_memget_vlist_async
#define upc_memget_ilist bupc_memget_ilist
#define upc_memget_ilist_async bupc_memget_ilist_async
#define upc_memget_fstrided bupc_memget_fstrided
#define upc_memget_fstrided_async bupc_memget_fstrided_async
#define upc_memget_strided bupc_memget_strided
#define upc_memget_strided_async bupc_memget_strided_async
#endif

#endif
