/* N-queens: in how many ways can N queens stand on an N x N board without attacking each other?

   What it shows: upc_forall with an integer affinity to deal out independent pieces of work, and
   adding up the results by hand.

   Check: the published numbers of solutions. */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

#define MOST 16

static const long known[MOST + 1] = {1,   1,    0,     0,     2,      10,      4,       40,      92,
                                     352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

shared long found[THREADS];

/* Count the ways to fill the remaining rows. Bits set are columns attacked along columns and along
   the two diagonals, as seen from this row. */
static long place(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    if (columns == all)
        return 1;
    long ways = 0;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        const unsigned queen = free & -free;
        ways += place(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return ways;
}

int main(int argc, char **argv)
{
    long n = 11;
    const struct size sizes[] = {{"N", &n, 1, MOST}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    const unsigned all = (1u << n) - 1;
    const double start = seconds();

    /* One piece of work for each way to place the queens of the first two rows. The last clause of
       upc_forall says who does it: piece i goes to thread i mod THREADS. */
    long ways = 0;
    upc_forall (int i = 0; i < n * n; i++; i) {
        const unsigned first = 1u << (i / n), second = 1u << (i % n);
        if (n == 1)
            ways = 1;
        else if (!(second & (first | first << 1 | first >> 1)))
            ways += place(all, first | second, (first << 1 | second) << 1,
                          (first >> 1 | second) >> 1);
    }
    found[MYTHREAD] = ways;
    upc_barrier;

    if (MYTHREAD == 0) {
        long total = 0;
        for (int t = 0; t < THREADS; t++)
            total += found[t];
        printf("nqueens: %ld queens, %ld solutions, %d threads: %.3f s\n", n, total, THREADS,
               seconds() - start);
        if (total != known[n]) {
            fprintf(stderr, "nqueens: found %ld solutions, expected %ld\n", total, known[n]);
            upc_global_exit(1);
        }
        printf("verification: passed\n");
    }
    return 0;
}
