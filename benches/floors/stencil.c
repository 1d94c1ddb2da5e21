/* stencil RANKS: a 5-point stencil over -DROWS=... rows a rank of -DCOLUMNS=... doubles in shared memory, as one
   writes it for processes that share memory: a rank has consecutive rows. With -DDEALT the elements go to the ranks in
   turn, as in a cyclic layout, also in memory; with -DDEALT_ROWS the rows. Prints ns per element of one rank. */
#include "floor.h"

static double (*a)[COLUMNS], (*b)[COLUMNS];
static int ranks;

#ifdef DEALT_ROWS
/* Row i of the whole array is number i / ranks of rank i % ranks. */
static NOINLINE double *row_of(double (*all)[COLUMNS], int i) { return all[i % ranks * ROWS + i / ranks]; }

static NOINLINE void sweep(int rank, int rows)
{
    for (int i = rank == 0 ? ranks : rank; i < rows - 1; i += ranks) {
        double *here = row_of(b, i);
        const double *centre = row_of(a, i), *up = row_of(a, i - 1), *down = row_of(a, i + 1);
        for (int j = 1; j < COLUMNS - 1; j++)
            here[j] = 0.2 * (centre[j] + up[j] + down[j] + centre[j - 1] + centre[j + 1]);
    }
}
#elif defined DEALT
/* Element k of the whole array is number k / ranks of rank k % ranks. */
static size_t part;
static NOINLINE double *element(double *all, long k) { return all + (size_t)(k % ranks) * part + k / ranks; }

static NOINLINE void sweep(int rank, int rows)
{
    double *const from = a[0], *const to = b[0];
    for (int i = 1; i < rows - 1; i++) {
        const long row = (long)i * COLUMNS, skip = ((rank - row - 1) % ranks + ranks) % ranks, first = row + 1 + skip;
        const long count = (COLUMNS - 1 - skip - 1 + ranks - 1) / ranks;
        double *here = element(to, first);
        const double *centre = element(from, first), *up = element(from, first - COLUMNS);
        const double *down = element(from, first + COLUMNS);
        const double *left = element(from, first - 1), *right = element(from, first + 1);
        for (long k = 0; k < count; k++)
            here[k] = 0.2 * (centre[k] + up[k] + down[k] + left[k] + right[k]);
    }
}
#else

static NOINLINE void sweep(int first, int end)
{
    for (int i = first; i < end; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
#endif

int main(int argc, char **argv)
{
    ranks = (int)argument(argc, argv, 1, 2);
    const int rows = ROWS * ranks;
    struct central *barrier = shared_memory(sizeof *barrier);
    a = shared_memory(sizeof *a * (size_t)rows);
    b = shared_memory(sizeof *b * (size_t)rows);
    const int rank = start_ranks(ranks);
#ifdef DEALT_ROWS
    for (int i = rank; i < rows; i += ranks)
        for (int j = 0; j < COLUMNS; j++) {
            row_of(a, i)[j] = i + 2 * j;
            row_of(b, i)[j] = 0;
        }
    const int first = rank, end = rows;
#elif defined DEALT
    part = (size_t)ROWS * COLUMNS;
    for (long k = rank; k < (long)rows * COLUMNS; k += ranks) {
        *element(a[0], k) = (double)(k / COLUMNS + 2 * (k % COLUMNS));
        *element(b[0], k) = 0;
    }
    const int first = rank, end = rows;
#else
    for (int i = ROWS * rank; i < ROWS * (rank + 1); i++)
        for (int j = 0; j < COLUMNS; j++) {
            a[i][j] = i + 2 * j;
            b[i][j] = 0;
        }
    const int first = rank == 0 ? 1 : ROWS * rank, end = rank == ranks - 1 ? rows - 1 : ROWS * (rank + 1);
#endif
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
