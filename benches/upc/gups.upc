/* Updates at random places of a table of -DN=... 64-bit words a thread. Prints ns per update of one thread. */
#include <upc_relaxed.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BATCHES 3

shared uint64_t table[N * THREADS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) uint64_t update(uint64_t ran, long count)
{
    const uint64_t mask = (uint64_t)N * THREADS - 1;
    for (long k = 0; k < count; k++) {
        ran = ran << 1 ^ ((int64_t)ran < 0 ? 7 : 0);
        table[ran & mask] ^= ran;
    }
    return ran;
}

int main(void)
{
    upc_forall (long i = 0; i < N * THREADS; i++; &table[i])
        table[i] = i;
    uint64_t ran = 0x123456789abcdefu + 0x9e3779b97f4a7c15u * (uint64_t)MYTHREAD;
    const long count = 4000000;
    for (int batch = -1; batch < BATCHES; batch++) {
        upc_barrier;
        const double start = now_ns();
        ran = update(ran, count);
        upc_barrier;
        if (MYTHREAD == 0 && batch >= 0)
            printf("gups %.6g\n", (now_ns() - start) / (double)count);
    }
    return ran == 0;
}
