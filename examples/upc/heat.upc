/* Heat: a metal plate cools down. Each step replaces a point by a mix of itself and its four
   neighbours (an explicit five-point stencil); the edge of the plate is kept at zero.

   What it shows: a directory of per-thread pieces, working on one's own piece through an ordinary
   C pointer, fetching the neighbours' rows with upc_memget, a split-phase barrier.

   Check: sin(pi y) sin(pi x) is an eigenvector of the stencil, so after any number of steps every
   point must be the starting value times a known factor. */
#include <upc_relaxed.h>
#include <math.h>
#include <stdio.h>
#include "common.h"

/* band[b][t]: thread t's rows in buffer b (steps alternate between two buffers). The pointers are
   shared, so everybody can find everybody's rows; `shared []` says that all elements one of them
   can reach live on one thread. */
shared [] double *shared band[2][THREADS];

static long rows = 256, cols = 256, steps = 200;

/* Thread t owns rows first_row(t) up to, not including, first_row(t + 1). */
static long first_row(int t) { return (long)t * rows / THREADS; }
static int owner_of(long row) { return (int)(((row + 1) * THREADS - 1) / rows); }

/* Copy grid row `row` (-1 and `rows` are the cold edge) from its owner into `to`. */
static void fetch_row(int buffer, long row, double *to)
{
    if (row < 0 || row >= rows)
        return; /* ghost rows outside the plate stay zero */
    const int owner = owner_of(row);
    upc_memget(to, band[buffer][owner] + (row - first_row(owner) + 1) * (cols + 2),
               (cols + 2) * sizeof(double));
}

static void relax_row(double *restrict to, const double *restrict from, long width, double rate)
{
    for (long j = 1; j <= cols; j++)
        to[j] = from[j] + rate * (from[j - width] + from[j + width] + from[j - 1] + from[j + 1] -
                                  4.0 * from[j]);
}

int main(int argc, char **argv)
{
    const struct size sizes[] = {{"ROWS", &rows, 1, 1000000},
                                 {"COLS", &cols, 1, 1000000},
                                 {"STEPS", &steps, 0, 10000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 3);

    const double pi = acos(-1.0), rate = 0.2;
    const long low = first_row(MYTHREAD), count = first_row(MYTHREAD + 1) - low;
    const long width = cols + 2; /* a ghost column at each side */
    const size_t bytes = (size_t)(count + 2) * width * sizeof(double);

    /* Own rows 1..count, ghost rows 0 and count + 1. The memory has affinity to this thread, so a
       cast to a plain pointer is allowed, and plain pointers are the fastest way in. */
    double *mine[2];
    for (int b = 0; b < 2; b++) {
        band[b][MYTHREAD] = (shared [] double *)upc_alloc(bytes);
        mine[b] = (double *)band[b][MYTHREAD];
        memset(mine[b], 0, bytes);
    }
    for (long i = 1; i <= count; i++)
        for (long j = 1; j <= cols; j++)
            mine[0][i * width + j] =
                sin(pi * (double)(low + i) / (rows + 1)) * sin(pi * (double)j / (cols + 1));
    upc_barrier;

    const double start = seconds();
    for (long s = 0; s < steps; s++) {
        const int from = s % 2, to = 1 - from;
        if (count > 0) {
            fetch_row(from, low - 1, mine[from]);
            fetch_row(from, low + count, mine[from] + (count + 1) * width);
            relax_row(mine[to] + width, mine[from] + width, width, rate);
            relax_row(mine[to] + count * width, mine[from] + count * width, width, rate);
        }
        /* The rows that others need are done: say so, and wait only after the rest is done too. */
        upc_notify;
        for (long i = 2; i < count; i++)
            relax_row(mine[to] + i * width, mine[from] + i * width, width, rate);
        upc_wait;
    }
    const double elapsed = seconds() - start;

    const double sr = sin(pi / 2 / (rows + 1)), sc = sin(pi / 2 / (cols + 1));
    const double factor = pow(1.0 - 4.0 * rate * (sr * sr + sc * sc), (double)steps);
    const double *end = mine[steps % 2];
    for (long i = 1; i <= count; i++)
        for (long j = 1; j <= cols; j++) {
            const double expected = factor * sin(pi * (double)(low + i) / (rows + 1)) *
                                    sin(pi * (double)j / (cols + 1));
            if (!(fabs(end[i * width + j] - expected) < 1e-9)) {
                fprintf(stderr, "heat: row %ld column %ld: %.12g, expected %.12g\n", low + i, j,
                        end[i * width + j], expected);
                upc_global_exit(1);
            }
        }
    upc_barrier;

    for (int b = 0; b < 2; b++)
        upc_free(band[b][MYTHREAD]);
    if (MYTHREAD == 0) {
        printf("heat: %ld x %ld points, %ld steps, %d threads: %.3f s\n", rows, cols, steps,
               THREADS, elapsed);
        printf("verification: passed\n");
    }
    return 0;
}
