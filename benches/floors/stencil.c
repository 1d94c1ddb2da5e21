/* stencil RANKS: a 5-point stencil over -DROWS=... rows a rank of -DCOLUMNS=... doubles in shared memory, as one
   writes it for processes that share memory. Prints ns per element of one rank. */
#include "floor.h"

static double (*a)[COLUMNS], (*b)[COLUMNS];

static NOINLINE void sweep(int first, int end)
{
    for (int i = first; i < end; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 2), rows = ROWS * ranks;
    struct central *barrier = shared_memory(sizeof *barrier);
    a = shared_memory(sizeof *a * (size_t)rows);
    b = shared_memory(sizeof *b * (size_t)rows);
    const int rank = start_ranks(ranks);
    for (int i = ROWS * rank; i < ROWS * (rank + 1); i++)
        for (int j = 0; j < COLUMNS; j++) {
            a[i][j] = i + 2 * j;
            b[i][j] = 0;
        }
    const int first = rank == 0 ? 1 : ROWS * rank, end = rank == ranks - 1 ? rows - 1 : ROWS * (rank + 1);
    const double elements = (double)ROWS * COLUMNS;
    const long passes = (long)(4e7 / elements) + 1;
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(barrier, (unsigned)ranks);
        const double start = now_ns();
        for (long p = 0; p < passes; p++)
            sweep(first, end);
        central_barrier(barrier, (unsigned)ranks);
        if (rank == 0 && batch >= 0)
            report("stencil", (now_ns() - start) / (double)passes / elements);
    }
    end_ranks(rank);
}
