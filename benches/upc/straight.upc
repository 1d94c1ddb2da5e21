/* Four reads and four writes of another thread's elements in straight code, then a fence. Prints ns for all of them. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <time.h>

#define N 64
#define VISITS 400
#define BATCHES 3

shared [N] double a[N * THREADS], b[N * THREADS], c[N * THREADS], d[N * THREADS];
shared [N] double e[N * THREADS], f[N * THREADS], g[N * THREADS], h[N * THREADS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) void visit(long i)
{
    const double north = a[i], south = b[i], east = c[i], west = d[i];
    e[i] = north + south;
    f[i] = north - south;
    g[i] = east + west;
    h[i] = east - west;
    upc_fence;
}

int main(void)
{
    upc_forall (long i = 0; i < N * THREADS; i++; &a[i]) {
        a[i] = b[i] = (double)i;
        c[i] = d[i] = 2.0 * (double)i;
    }
    upc_barrier;
    if (MYTHREAD == 0)
        for (int batch = 0; batch < BATCHES; batch++) {
            const double start = now_ns();
            for (long k = 0; k < VISITS; k++)
                visit(N * (THREADS - 1L) + k % N);
            printf("straight %.6g\n", (now_ns() - start) / VISITS);
        }
    upc_barrier;
    for (long i = N * (THREADS - 1L); i < N * THREADS; i++)
        if (e[i] != 2 * i || f[i] != 0 || g[i] != 4 * i || h[i] != 0) {
            fprintf(stderr, "straight: element %ld is %g\n", i, e[i]);
            upc_global_exit(1);
        }
    upc_barrier;
    return 0;
}
