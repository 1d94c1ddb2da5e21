/* Matmul: C = A * B for square matrices cut into tiles.

   What it shows: a shared array of structs allocated at run time, upc_forall with the affinity of
   the element to be written, and fetching a whole struct by assignment.

   Check: for a random vector x, C x must equal A (B x), where A and B are taken from their
   formulas and not from memory. All values are small whole numbers, so the sums are exact. */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

#define TILE 32

typedef struct {
    double at[TILE][TILE];
} tile;

static double a_entry(long i, long j) { return (double)(mix(2 * (i * 1000003 + j)) % 17) - 8; }
static double b_entry(long i, long j) { return (double)(mix(2 * (i * 1000003 + j) + 1) % 17) - 8; }
static double x_entry(long i) { return (double)(mix(~(uint64_t)i) % 1999) - 999; }

/* sum += left * right */
static void multiply_add(tile *restrict sum, const tile *restrict left, const tile *restrict right)
{
    for (int i = 0; i < TILE; i++)
        for (int k = 0; k < TILE; k++)
            for (int j = 0; j < TILE; j++)
                sum->at[i][j] += left->at[i][k] * right->at[k][j];
}

int main(int argc, char **argv)
{
    long n = 256;
    const struct size sizes[] = {{"N", &n, 1, 20000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    /* Tile (i, j) is element i * side + j. With the default block size of one element, the tiles
       are dealt out to the threads in turn. */
    const long side = (n + TILE - 1) / TILE;
    shared tile *a = (shared tile *)upc_all_alloc(side * side, sizeof(tile));
    shared tile *b = (shared tile *)upc_all_alloc(side * side, sizeof(tile));
    shared tile *c = (shared tile *)upc_all_alloc(side * side, sizeof(tile));
    shared double *bx = (shared double *)upc_all_alloc(n, sizeof(double));

    /* Everybody fills the tiles that live here; beyond the edge of the matrix they hold zeros. */
    upc_forall (long t = 0; t < side * side; t++; &a[t]) {
        tile *ta = (tile *)&a[t], *tb = (tile *)&b[t];
        for (int i = 0; i < TILE; i++)
            for (int j = 0; j < TILE; j++) {
                const long row = t / side * TILE + i, col = t % side * TILE + j;
                const int inside = row < n && col < n;
                ta->at[i][j] = inside ? a_entry(row, col) : 0;
                tb->at[i][j] = inside ? b_entry(row, col) : 0;
            }
    }
    upc_barrier;

    const double start = seconds();
    upc_forall (long t = 0; t < side * side; t++; &c[t]) {
        static tile left, right, sum; /* private: one copy on each thread */
        const long i = t / side, j = t % side;
        memset(&sum, 0, sizeof sum);
        for (long k = 0; k < side; k++) {
            left = a[i * side + k]; /* 8 KiB come over in one piece */
            right = b[k * side + j];
            multiply_add(&sum, &left, &right);
        }
        c[t] = sum;
    }
    upc_barrier;
    const double elapsed = seconds() - start;

    upc_forall (long i = 0; i < n; i++; &bx[i]) {
        double s = 0;
        for (long j = 0; j < n; j++)
            s += b_entry(i, j) * x_entry(j);
        bx[i] = s;
    }
    upc_barrier;
    double *y = malloc(n * sizeof *y);
    for (long i = 0; i < n; i++)
        y[i] = bx[i];
    upc_forall (long i = 0; i < n; i++; i) {
        double abx = 0, cx = 0;
        for (long j = 0; j < n; j++) {
            abx += a_entry(i, j) * y[j];
            cx += c[i / TILE * side + j / TILE].at[i % TILE][j % TILE] * x_entry(j);
        }
        if (abx != cx) {
            fprintf(stderr, "matmul: row %ld: (C x) is %.0f, A (B x) is %.0f\n", i, cx, abx);
            upc_global_exit(1);
        }
    }
    free(y);
    upc_barrier;

    upc_all_free(a);
    upc_all_free(b);
    upc_all_free(c);
    upc_all_free(bx);
    if (MYTHREAD == 0) {
        printf("matmul: %ld x %ld in tiles of %d, %d threads: %.3f s, %.2f Gflop/s\n", n, n, TILE,
               THREADS, elapsed, 2e-9 * n * n * n / elapsed);
        printf("verification: passed\n");
    }
    return 0;
}
