/* Jacobi's method in one dimension: a rod whose ends are kept at 0 and 1.

   What it shows: threads of OpenMP inside of each thread of UPC, which share its block of the rod
   and read the neighbours' ends. Compile it with -fopenmp; without, it is right as well.

   Check: the temperature is a straight line in the end, and each step gets nearer to it. */
#include <upc_relaxed.h>
#include <math.h>
#include <stdio.h>
#include "common.h"

#define CELLS 64 /* of each thread */

shared [CELLS] double now[CELLS * THREADS], next[CELLS * THREADS];
shared double changes[THREADS];

/* One step from one array to the other; returns the largest change of this thread's cells. */
static double step(shared [CELLS] double *to, shared [CELLS] double *from)
{
    const int cells = CELLS * THREADS, first = MYTHREAD * CELLS;
    double largest = 0;
#pragma omp parallel for reduction(max : largest)
    for (int i = first; i < first + CELLS; i++) {
        const double left = i > 0 ? from[i - 1] : 0, right = i < cells - 1 ? from[i + 1] : 1;
        const double value = (left + right) / 2, change = fabs(value - from[i]);
        to[i] = value;
        largest = change > largest ? change : largest;
    }
    return largest;
}

int main(int argc, char **argv)
{
    long steps = 60;
    const struct size sizes[] = {{"STEPS", &steps, 2, 1000000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    const int cells = CELLS * THREADS;
    /* Not far from the line, which a few steps could not reach from anywhere. */
    upc_forall (int i = 0; i < cells; i++; &now[i])
        now[i] = (i + 1.0) / (cells + 1) + 0.1 * sin(3.141592653589793 * (i + 1) / (cells + 1));
    upc_barrier;

    const double start = seconds();
    double first_change = 0, change = 0;
    for (long s = 0; s < steps; s++) {
        changes[MYTHREAD] = s % 2 ? step(now, next) : step(next, now);
        upc_barrier;
        change = 0;
        for (int t = 0; t < THREADS; t++)
            change = changes[t] > change ? changes[t] : change;
        if (s == 0)
            first_change = change;
        upc_barrier;
    }
    const double elapsed = seconds() - start;

    if (MYTHREAD == 0) {
        shared [CELLS] double *const rod = steps % 2 ? next : now;
        /* The sine shrinks by this factor in each step. */
        const double factor = cos(3.141592653589793 / (cells + 1));
        double worst = 0;
        for (int i = 0; i < cells; i++) {
            const double x = (i + 1.0) / (cells + 1);
            const double want = x + 0.1 * pow(factor, steps) * sin(3.141592653589793 * x);
            worst = fmax(worst, fabs(rod[i] - want));
        }
        printf("jacobi: %d cells, %ld steps, %d threads: %.3f s\n", cells, steps, THREADS, elapsed);
        if (worst > 1e-9 || change >= first_change) {
            fprintf(stderr, "jacobi: off by %g, changes from %g to %g\n", worst, first_change, change);
            upc_global_exit(1);
        }
        printf("verification: passed\n");
    }
    return 0;
}
