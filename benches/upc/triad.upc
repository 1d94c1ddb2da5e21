/* a[i] = b[i] + s * c[i] over shared arrays; every thread does what it owns. Compiled with
   -DLAYOUT=... and -DN=...L elements per thread. Prints ns per element of one thread. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <time.h>

#ifndef N
#define N 1024L
#endif
#ifndef LAYOUT
#define LAYOUT 1
#endif
#define BATCHES 5

shared [LAYOUT] double a[N * THREADS], b[N * THREADS], c[N * THREADS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) void triad(double s)
{
    upc_forall (long i = 0; i < N * THREADS; i++; &a[i])
        a[i] = b[i] + s * c[i];
}

int main(void)
{
    upc_forall (long i = 0; i < N * THREADS; i++; &a[i]) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 1.0;
    }
    long passes = 40000000 / N;
    if (passes < 1)
        passes = 1;
    const int batches = N > 10000000 ? 2 : BATCHES;
    for (int batch = N > 10000000 ? 0 : -1; batch < batches; batch++) {
        upc_barrier;
        const double start = now_ns();
        for (long p = 0; p < passes; p++)
            triad((double)(p + 1));
        upc_barrier;
        if (MYTHREAD == 0 && batch >= 0)
            printf("triad %.6g\n", (now_ns() - start) / (double)passes / N);
    }
    upc_barrier;
    for (long i = MYTHREAD; i < N * THREADS; i += N / 7 + 1)
        if (a[i] != (double)i + (double)passes) {
            fprintf(stderr, "triad: element %ld is %g\n", i, a[i]);
            upc_global_exit(1);
        }
    return 0;
}
