/* stencil RANKS: a 5-point stencil over -DROWS=... rows a rank of -DCOLUMNS=... doubles in shared memory, as one
   writes it for processes that share memory: a rank has consecutive rows. With -DDEALT the elements go to the ranks in
   turn, as in a cyclic layout, also in memory; with -DDEALT_ROWS=K blocks of K rows. Prints ns per element of one rank. */
#include "floor.h"

static double (*a)[COLUMNS], (*b)[COLUMNS];
static int ranks;

#ifdef DEALT_ROWS
/* Block g of a rank follows its block g - 1 in memory; row k of it. */
static double *row_of(double (*all)[COLUMNS], int rank, int g, int k)
{
    return all[rank * ROWS + g * DEALT_ROWS + k];
}

static NOINLINE void sweep(int rank, int rows)
{
    const int last = DEALT_ROWS - 1;
    for (int g = 0; g < ROWS / DEALT_ROWS; g++)
        for (int k = 0; k <= last; k++) {
            const int i = (g * ranks + rank) * DEALT_ROWS + k;
            if (i == 0 || i == rows - 1)
                continue;
            double *here = row_of(b, rank, g, k);
            const double *centre = row_of(a, rank, g, k);
            const double *up = k > 0 ? centre - COLUMNS
                               : rank > 0 ? row_of(a, rank - 1, g, last)
                                          : row_of(a, ranks - 1, g - 1, last);
            const double *down = k < last ? centre + COLUMNS
                                 : rank < ranks - 1 ? row_of(a, rank + 1, g, 0)
                                                    : row_of(a, 0, g + 1, 0);
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
    for (int l = 0; l < ROWS; l++)
        for (int j = 0; j < COLUMNS; j++) {
            a[rank * ROWS + l][j] = (l / DEALT_ROWS * ranks + rank) * DEALT_ROWS + l % DEALT_ROWS + 2 * j;
            b[rank * ROWS + l][j] = 0;
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
