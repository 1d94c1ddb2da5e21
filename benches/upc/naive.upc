/* The sum of another thread's block, element by element. Prints ns per element. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <time.h>

#define N 4096
#define BATCHES 3

shared [N] double a[N * THREADS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) double sum(long first)
{
    double s = 0;
    for (long i = 0; i < N; i++)
        s += a[first + i];
    return s;
}

int main(void)
{
    upc_forall (long i = 0; i < N * THREADS; i++; &a[i])
        a[i] = (double)(i % N);
    upc_barrier;
    if (MYTHREAD == 0)
        for (int batch = 0; batch < BATCHES; batch++) {
            const double start = now_ns();
            const double s = sum(N * (THREADS - 1L));
            printf("naive %.6g\n", (now_ns() - start) / N);
            if (s != N / 2 * (N - 1.0)) {
                fprintf(stderr, "naive: the sum is %g\n", s);
                upc_global_exit(1);
            }
        }
    upc_barrier;
    return 0;
}
