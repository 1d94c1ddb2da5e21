/* Reads of shared elements named by an index, independent and in a chain, all in the first-level
   cache. Compiled with -DLAYOUT=... and -DINDEFINITE=0 or 1. Prints ns per element. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <time.h>

#define COUNT 1024
#define BATCHES 5

typedef shared [LAYOUT] long element;
static int chosen[COUNT];
#if !INDEFINITE
static shared [LAYOUT] long spread[1024 * THREADS];
#endif

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) long independent(element *p, const int *idx, long passes)
{
    long s = 0;
    for (long k = 0; k < passes; k++) {
        for (int i = 0; i < COUNT; i++)
            s += p[idx[i]];
        __asm__ volatile("" ::: "memory");
    }
    return s;
}

static __attribute__((noinline)) long chain(element *p, long at, long steps)
{
    for (long k = 0; k < steps; k++)
        at = p[at];
    return at;
}

int main(void)
{
    const int n = 1024 * THREADS;
#if INDEFINITE
    static element *shared where;
    /* On the last thread: remote to the one that reads. */
    if (MYTHREAD == THREADS - 1)
        where = (element *)upc_alloc(n * sizeof(long));
    upc_barrier;
    element *table = where;
#else
    element *table = spread;
#endif
    if (MYTHREAD == 0) {
        for (int i = 0; i < n; i++)
            table[i] = i;
        uint64_t state = 1;
        for (int i = n - 1; i > 0; i--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const int j = (int)((state >> 33) % (uint64_t)i);
            const long t = table[i];
            table[i] = table[j];
            table[j] = t;
        }
        long expected = 0;
        for (int i = 0; i < COUNT; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            chosen[i] = (int)((state >> 33) % (uint64_t)n);
            expected += table[chosen[i]];
        }
        const long passes = 5000, steps = 2000000;
        for (int batch = -1; batch < BATCHES; batch++) {
            double start = now_ns();
            const long sum = independent(table, chosen, passes);
            const double each = (now_ns() - start) / ((double)passes * COUNT);
            start = now_ns();
            const long end = chain(table, 0, steps);
            const double step = (now_ns() - start) / (double)steps;
            long check = 0;
            for (long k = 0; k < steps % n; k++) /* the cycle has n elements */
                check = table[check];
            if (sum != expected * passes || end != check) {
                fprintf(stderr, "read: wrong sums\n");
                upc_global_exit(1);
            }
            if (batch >= 0) {
                printf("read %.6g\n", each);
                printf("chain %.6g\n", step);
            }
        }
    }
    upc_barrier;
    return 0;
}
