/* triad RANKS: a[i] = b[i] + s * c[i] over private arrays of N elements (-DN=...), on all ranks at
   once. Two kernels: over pointers, of a length that the compiler does not know, and over the arrays
   by name. Prints ns per element. */
#include "floor.h"

#ifndef N
#define N 1024L
#endif

static double a[N], b[N], c[N];

static NOINLINE __attribute__((noclone)) void by_pointer(double *to, const double *x, const double *y, double s, long n)
{
    for (long i = 0; i < n; i++)
        to[i] = x[i] + s * y[i];
}
static NOINLINE void by_name(double s)
{
    for (long i = 0; i < N; i++)
        a[i] = b[i] + s * c[i];
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 2);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(ranks);
    for (long i = 0; i < N; i++) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 1.0;
    }
    volatile long length = N;
    long passes = 40000000 / N;
    if (passes < 1)
        passes = 1;
    const int batches = N > 10000000 ? 2 : BATCHES;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int batch = N > 10000000 ? 0 : -1; batch < batches; batch++) {
            central_barrier(barrier, (unsigned)ranks);
            const double start = now_ns();
            for (long p = 0; p < passes; p++)
                if (kernel == 0)
                    by_pointer(a, b, c, (double)(p + 1), length);
                else
                    by_name((double)(p + 1));
            central_barrier(barrier, (unsigned)ranks);
            if (rank == 0 && batch >= 0)
                report(kernel == 0 ? "triad_pointers" : "triad_names",
                       (now_ns() - start) / (double)passes / N);
        }
    for (long i = 0; i < N; i += N / 7 + 1)
        if (a[i] != (double)i + (double)passes)
            _exit(1);
    end_ranks(rank);
}
