/* firehose.h: pin memory lazily, under a budget.

   A pool pins memory when it is first held, and keeps it pinned after it was released, as long as the budget allows; then
   what was released first is unpinned first. Held memory is never unpinned. Any number of threads may use a pool; a
   call that finds the budget used up by others waits until they release. Registrar calls are made in parallel, by the threads
   that need them.

   Functions return 0, or an error number as in <errno.h>. */
#ifndef FIREHOSE_H
#define FIREHOSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool, and memory held from it. */
typedef struct firehose firehose_t;
typedef struct firehose_hold firehose_hold_t;

typedef struct {
    /* Pinning is done in aligned pieces of this size, a power of two and a multiple of the page; 0: a page. */
    size_t bucket_bytes;
    /* Never more than this is pinned at once. */
    size_t budget_bytes;
    /* Pin and unpin a range; pin returns 0 or an error number. Called by any thread, and by several at once, but not for
       overlapping ranges. Null: mlock and munlock. */
    int (*pin)(void *context, void *addr, size_t len);
    void (*unpin)(void *context, void *addr, size_t len);
    void *context;
    /* Not 0: the kernel is asked to tell of changed mappings (userfaultfd), so that pinned memory that was unmapped, mapped
       over, moved, given up or forked is noticed. Otherwise tell of them by firehose_changed. */
    int watch;
} firehose_config_t;

/* EINVAL: a size that cannot be. With watch, what userfaultfd fails with: ENOSYS, EPERM. */
int firehose_open(const firehose_config_t *config, firehose_t **pool);

/* Unpins everything. Nothing may be held, and nobody may use the pool any more. */
void firehose_close(firehose_t *pool);

/* Holds memory; waits until there is room. A thread that holds memory must not wait for more, since all might; it can use
   firehose_try_hold. ENOMEM: more than the budget, EFAULT: not mapped, ECHILD: the pool is that of the parent process; or what
   pin returned. */
int firehose_hold(firehose_t *pool, const void *addr, size_t len, firehose_hold_t **hold);

/* Holds memory if it is pinned already. EAGAIN: it is not, or there is no room. */
int firehose_try_hold(firehose_t *pool, const void *addr, size_t len, firehose_hold_t **hold);

/* 1 if the memory is still that which was pinned, 0 if its mapping changed since. */
int firehose_is_current(firehose_t *pool, const firehose_hold_t *hold);

/* Gives held memory back; the hold is gone. */
void firehose_release(firehose_t *pool, firehose_hold_t *hold);

/* The mapping of a range changed. To be called before the range is used again. */
void firehose_changed(firehose_t *pool, const void *addr, size_t len);

typedef struct {
    uint64_t pinned_bytes;   /* now, with what is being pinned or unpinned */
    uint64_t peak_bytes;     /* the most there has been */
    uint64_t idle_bytes;     /* pinned and not held */
    uint64_t pins, unpins;   /* buckets, so far */
    uint64_t reused;         /* buckets held again while still pinned */
} firehose_usage_t;

void firehose_usage(firehose_t *pool, firehose_usage_t *usage);

#ifdef __cplusplus
}
#endif
#endif
