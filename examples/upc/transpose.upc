/* Transpose: a square matrix is turned over, tile by tile, and back.

   What it shows: rows dealt out cyclically, strips of rows fetched with upc_memget and stored with
   upc_memput; data of which much more exists than fits into a thread's hands at a time. On a
   network that pages the shared heap (netvm) the matrices may also be larger than the memory that
   the heap is allowed:

     UPC_SHARED_HEAP_SIZE=16M GASNET_NETVM_MEMORY=1M upcrun --conduit netvm -n 2 transpose 1400

   Check: every element of the original says where it belongs, and the turned matrix is turned back
   and compared with it. */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

#define TILE 32
#define THREADS_MAX 1024

static long n = 256;

/* Row i of a matrix is on thread i % THREADS, row i / THREADS of its piece. The pointers are private
   copies of those that the owners published in `directory`. */
typedef shared [] double *piece;
shared piece directory[2][THREADS];
static piece *a, *b;

static piece row(piece *matrix, long i) { return matrix[i % THREADS] + (i / THREADS) * n; }

static double value(long i, long j) { return (double)(i * n + j) + 0.25; }

/* to = transpose of from: each thread fetches the tiles of a strip and stores them turned. */
static void turn(piece *to, piece *from)
{
    static double in[TILE][TILE], out[TILE][TILE];
    const long tiles = (n + TILE - 1) / TILE;
    for (long s = MYTHREAD; s < tiles * tiles; s += THREADS) {
        const long i0 = s / tiles * TILE, j0 = s % tiles * TILE;
        const long rows = n - i0 < TILE ? n - i0 : TILE, cols = n - j0 < TILE ? n - j0 : TILE;
        for (long i = 0; i < rows; i++)
            upc_memget(in[i], row(from, i0 + i) + j0, cols * sizeof(double));
        for (long i = 0; i < rows; i++)
            for (long j = 0; j < cols; j++)
                out[j][i] = in[i][j];
        for (long j = 0; j < cols; j++)
            upc_memput(row(to, j0 + j) + i0, out[j], rows * sizeof(double));
    }
    upc_barrier;
}

int main(int argc, char **argv)
{
    const struct size sizes[] = {{"N", &n, 1, 100000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    const long mine = (n - MYTHREAD + THREADS - 1) / THREADS;
    static piece pieces[2][THREADS_MAX];
    if (THREADS > THREADS_MAX) {
        if (MYTHREAD == 0)
            fprintf(stderr, "at most %d threads\n", THREADS_MAX);
        return 2;
    }
    for (int m = 0; m < 2; m++)
        directory[m][MYTHREAD] = (piece)upc_alloc((mine + 1) * n * sizeof(double));
    upc_barrier;
    for (int m = 0; m < 2; m++)
        for (int t = 0; t < THREADS; t++)
            pieces[m][t] = directory[m][t];
    a = pieces[0];
    b = pieces[1];

    /* Own rows through a plain pointer. */
    for (long i = MYTHREAD; i < n; i += THREADS) {
        double *own = (double *)row(a, i);
        for (long j = 0; j < n; j++)
            own[j] = value(i, j);
    }
    upc_barrier;

    const double start = seconds();
    turn(b, a);
    long wrong = 0;
    for (long i = MYTHREAD; i < n; i += THREADS) {
        double *own_a = (double *)row(a, i), *own_b = (double *)row(b, i);
        for (long j = 0; j < n; j++) {
            wrong += own_b[j] != value(j, i);
            own_a[j] = 0;
        }
    }
    upc_barrier;
    turn(a, b);
    const double took = seconds() - start;
    for (long i = MYTHREAD; i < n; i += THREADS) {
        double *own = (double *)row(a, i);
        for (long j = 0; j < n; j++)
            wrong += own[j] != value(i, j);
    }

    shared [] long *count = (shared [] long *)upc_all_alloc(1, sizeof(long) * THREADS);
    count[MYTHREAD] = wrong;
    upc_barrier;
    long total = 0;
    for (int t = 0; t < THREADS; t++)
        total += count[t];
    if (MYTHREAD == 0) {
        printf("transpose: %ld x %ld, %.1f MiB in both matrices, %d threads, %.3f s\n", n, n,
               2.0 * n * n * sizeof(double) / (1 << 20), THREADS, took);
        printf("verification: %s\n", total == 0 ? "passed" : "FAILED");
    }
    return total != 0;
}
