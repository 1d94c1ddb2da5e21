/* Atomic updates at random places of the other thread's part of a table: nothing is waited for before the barrier. Prints
   ns per update. */
#include <upc_relaxed.h>
#include <upc_atomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BATCHES 3
#define N 65536

shared [N] uint64_t table[N * THREADS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) uint64_t update(upc_atomicdomain_t *domain, uint64_t ran, long count)
{
    const int other = (MYTHREAD + 1) % THREADS;
    for (long k = 0; k < count; k++) {
        ran = ran << 1 ^ ((int64_t)ran < 0 ? 7 : 0);
        upc_atomic_relaxed(domain, NULL, UPC_XOR, &table[N * other + (int)(ran % N)], &ran, NULL);
    }
    return ran;
}

int main(void)
{
    upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_UINT64, UPC_XOR, 0);
    uint64_t ran = 0x123456789abcdefu + 0x9e3779b97f4a7c15u * (uint64_t)MYTHREAD;
    const long count = 50000;
    for (int batch = -1; batch < BATCHES; batch++) {
        upc_barrier;
        const double start = now_ns();
        ran = update(domain, ran, count);
        upc_barrier;
        if (MYTHREAD == 0 && batch >= 0)
            printf("updates %.6g\n", (now_ns() - start) / (double)count);
    }
    upc_all_atomicdomain_free(domain);
    return ran == 0;
}
