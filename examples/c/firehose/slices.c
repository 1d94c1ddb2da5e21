/* Slices: four threads work through a buffer that is larger than what may be pinned at once.

   What it shows: pinning in parallel under a budget, reuse of what is still pinned, and a changed mapping that is noticed.

   Check: no more than the budget was ever pinned, by the pool's count and by that of the pin functions; the sum is right; and
   memory that was mapped over is not taken for the old one.

   Build: cc -pthread slices.c -I capi/firehose/include -L target/release -lfirehose_c */
#define _GNU_SOURCE
#include <firehose.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 4
#define BUFFER ((size_t)64 << 20)
#define SLICE ((size_t)1 << 20)
#define BUDGET ((size_t)12 << 20)
#define SLICES (BUFFER / SLICE)

static firehose_t *pool;
static unsigned char *buffer;
static atomic_size_t pinned, most, next;
static atomic_ullong sum;

static void must(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "slices: %s: %s\n", what, strerror(error));
        exit(1);
    }
}

static int pin(void *context, void *addr, size_t len)
{
    size_t now = atomic_fetch_add(&pinned, len) + len, seen = atomic_load(&most);
    (void)context;
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {}
    return mlock(addr, len) == 0 ? 0 : errno;
}

static void unpin(void *context, void *addr, size_t len)
{
    (void)context;
    munlock(addr, len);
    atomic_fetch_sub(&pinned, len);
}

/* Takes slices until there are none, twice over. */
static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        size_t slice = atomic_fetch_add(&next, 1);
        if (slice >= 2 * SLICES) return NULL;
        unsigned char *at = buffer + slice % SLICES * SLICE;
        firehose_hold_t *hold;
        must(firehose_hold(pool, at, SLICE, &hold), "hold");
        /* A device could read and write the slice now. */
        unsigned long long here = 0;
        for (size_t i = 0; i < SLICE; i += 64) here += at[i];
        atomic_fetch_add(&sum, here);
        firehose_release(pool, hold);
    }
}

int main(void)
{
    firehose_config_t config = {.bucket_bytes = 64 << 10, .budget_bytes = BUDGET, .pin = pin, .unpin = unpin};
    config.watch = 1;
    int error = firehose_open(&config, &pool);
    if (error == EPERM || error == ENOSYS) {
        printf("mappings cannot be watched here (%s)\n", strerror(error));
        config.watch = 0;
        error = firehose_open(&config, &pool);
    }
    must(error, "open");
    /* Aligned to whole buckets, so that no bucket has memory of somebody else. */
    unsigned char *area = mmap(NULL, BUFFER + SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) must(errno, "mmap");
    buffer = (unsigned char *)(((uintptr_t)area + SLICE - 1) / SLICE * SLICE);
    unsigned long long expected = 0;
    for (size_t i = 0; i < BUFFER; i += 64) expected += buffer[i] = (unsigned char)(i / 64 * 7);

    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) must(pthread_create(&threads[t], NULL, work, NULL), "thread");
    for (int t = 0; t < THREADS; t++) must(pthread_join(threads[t], NULL), "join");

    firehose_usage_t usage;
    firehose_usage(pool, &usage);
    printf("%d slices of %zu KiB by %d threads: at most %llu KiB pinned of %zu, %llu buckets pinned, %llu unpinned\n",
           (int)(2 * SLICES), SLICE >> 10, THREADS, (unsigned long long)usage.peak_bytes >> 10, BUDGET >> 10,
           (unsigned long long)usage.pins, (unsigned long long)usage.unpins);
    int good = atomic_load(&most) <= BUDGET && usage.peak_bytes <= BUDGET && atomic_load(&sum) == 2 * expected;
    good &= usage.pins >= SLICES * (SLICE / config.bucket_bytes);

    /* What is still pinned is held at once; what was mapped over is not the same memory any more. */
    firehose_hold_t *hold, *again;
    must(firehose_hold(pool, buffer, SLICE, &hold), "hold");
    must(firehose_try_hold(pool, buffer + 100, 1000, &again), "try to hold");
    firehose_release(pool, again);
    good &= firehose_is_current(pool, hold) == 1;
    if (mmap(buffer, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != buffer) must(errno, "mmap");
    if (!config.watch) firehose_changed(pool, buffer, 4096);
    good &= firehose_is_current(pool, hold) == 0;
    firehose_release(pool, hold);
    good &= firehose_hold(pool, buffer, BUDGET + 1, &hold) == ENOMEM;

    firehose_close(pool);
    good &= atomic_load(&pinned) == 0;
    printf("verification: %s\n", good ? "passed" : "FAILED");
    return !good;
}
