/* One sweep of a 5-point stencil over rows of shared doubles. Compiled with -DLAYOUT=..., -DCYCLIC=0 or 1,
   -DROWS=... per thread and -DCOLUMNS=.... Prints ns per element of one thread. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <time.h>

#define BATCHES 5

shared [LAYOUT] double a[ROWS * THREADS][COLUMNS], b[ROWS * THREADS][COLUMNS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) void sweep(void)
{
#if CYCLIC
    for (int i = 1; i < ROWS * THREADS - 1; i++)
        upc_forall (int j = 1; j < COLUMNS - 1; j++; &b[i][j])
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
#else
    upc_forall (int i = 1; i < ROWS * THREADS - 1; i++; &b[i][0])
        for (int j = 1; j < COLUMNS - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
#endif
}

int main(void)
{
    for (int i = 0; i < ROWS * THREADS; i++)
        upc_forall (int j = 0; j < COLUMNS; j++; &a[i][j]) {
            a[i][j] = i + 2 * j;
            b[i][j] = 0;
        }
    const double elements = (double)ROWS * COLUMNS;
    long passes = (long)(4e7 / elements) + 1;
    for (int batch = -1; batch < BATCHES; batch++) {
        upc_barrier;
        const double start = now_ns();
        for (long p = 0; p < passes; p++)
            sweep();
        upc_barrier;
        if (MYTHREAD == 0 && batch >= 0)
            printf("stencil %.6g\n", (now_ns() - start) / (double)passes / elements);
    }
    for (int i = 1 + MYTHREAD; i < ROWS * THREADS - 1; i += 7)
        for (int j = 1; j < COLUMNS - 1; j += 5)
            if (b[i][j] < i + 2 * j - 1e-6 || b[i][j] > i + 2 * j + 1e-6) {
                fprintf(stderr, "stencil: element %d, %d is %g\n", i, j, b[i][j]);
                upc_global_exit(1);
            }
    upc_barrier;
    return 0;
}
