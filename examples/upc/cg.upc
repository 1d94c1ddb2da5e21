/* CG: solve A x = b for a sparse symmetric matrix by the method of conjugate gradients.

   What it shows: block-cyclic vectors, upc_forall over the elements that live here, gathering a
   distributed vector block by block, a sum over all threads by hand.

   Check: b was made from a known solution, and the matrix used for that comes from its formula.
   Both the error against that solution and the true residual must be small. */
#include <upc_relaxed.h>
#include <math.h>
#include <stdio.h>
#include "common.h"

#define BLOCK 64 /* elements dealt out together */
#define REACH 6  /* couplings of each unknown in each direction */

typedef shared [BLOCK] double *vector;

static long n = 6000;

/* Unknowns i and j are coupled when they are one of these distances apart, going round. */
static long distance(int k)
{
    static const long step[REACH] = {1, 2, 17, 113, 331, 997};
    return step[k];
}
static double coupling(long i, long j)
{
    const long low = i < j ? i : j, high = i < j ? j : i;
    return -(double)(mix(low * 1000003 + high) % 1000 + 1) / 1000.0;
}
static double solution(long i) { return (double)(mix(~(uint64_t)i) % 2001) / 1000.0 - 1.0; }

/* Row i of A as a list of columns and values. The diagonal outweighs the rest of the row, which
   makes the matrix positive definite. */
static int matrix_row(long i, long *column, double *value)
{
    int count = 1;
    column[0] = i;
    value[0] = 0.05;
    for (int k = 0; k < REACH; k++) {
        if (2 * distance(k) >= n) /* would meet itself on the way round */
            continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            column[count] = (i + sign * distance(k) + n) % n;
            value[count] = coupling(i, column[count]);
            value[0] -= value[count];
            count++;
        }
    }
    return count;
}

/* The sum of one number from each thread, on every thread, and the same on all of them to the last
   bit since all add in the same order. */
static double sum_over_threads(double mine)
{
    static shared double part[THREADS];
    part[MYTHREAD] = mine;
    upc_barrier;
    double sum = 0;
    for (int t = 0; t < THREADS; t++)
        sum += part[t];
    upc_barrier; /* nobody writes its part again before all have read it */
    return sum;
}

static double dot(vector u, vector v)
{
    double sum = 0;
    upc_forall (long i = 0; i < n; i++; &u[i])
        sum += u[i] * v[i];
    return sum_over_threads(sum);
}

static vector new_vector(void)
{
    return (vector)upc_all_alloc((n + BLOCK - 1) / BLOCK, BLOCK * sizeof(double));
}

/* A private copy of the whole vector: one upc_memget for each block. */
static void gather(double *to, vector from)
{
    for (long i = 0; i < n; i += BLOCK)
        upc_memget(to + i, &from[i], (n - i < BLOCK ? n - i : BLOCK) * sizeof(double));
}

int main(int argc, char **argv)
{
    long limit = 1000;
    const struct size sizes[] = {{"UNKNOWNS", &n, 1, 100000000},
                                 {"ITERATIONS", &limit, 1, 1000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 2);

    vector x = new_vector(), r = new_vector(), p = new_vector(), q = new_vector();
    double *whole = malloc(n * sizeof *whole);

    /* The rows of the matrix that belong to the elements which live here, one after another. */
    long rows = 0, filled = 0, row = 0;
    upc_forall (long i = 0; i < n; i++; &q[i])
        rows++;
    const int widest = 2 * REACH + 1;
    long *row_end = malloc((rows + 1) * sizeof *row_end);
    long *column = malloc((rows * widest + 1) * sizeof *column);
    double *value = malloc((rows * widest + 1) * sizeof *value);
    upc_forall (long i = 0; i < n; i++; &q[i]) {
        const int count = matrix_row(i, column + filled, value + filled);
        double b = 0;
        for (int k = 0; k < count; k++)
            b += value[filled + k] * solution(column[filled + k]);
        filled += count;
        row_end[row++] = filled;
        x[i] = 0;
        r[i] = b; /* b - A 0 */
        p[i] = b;
    }
    upc_barrier;

    const double start = seconds();
    double rr = dot(r, r);
    const double goal = 1e-20 * rr;
    long iteration = 0;
    while (rr > goal && iteration < limit) {
        gather(whole, p);
        long k = 0;
        row = 0;
        upc_forall (long i = 0; i < n; i++; &q[i]) {
            double s = 0;
            for (; k < row_end[row]; k++)
                s += value[k] * whole[column[k]];
            row++;
            q[i] = s;
        }
        const double alpha = rr / dot(p, q); /* dot's barriers also end everybody's gather */
        upc_forall (long i = 0; i < n; i++; &x[i]) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double rr_new = dot(r, r), beta = rr_new / rr;
        upc_forall (long i = 0; i < n; i++; &p[i])
            p[i] = r[i] + beta * p[i];
        rr = rr_new;
        iteration++;
        upc_barrier; /* p is complete before anybody gathers it again */
    }
    const double elapsed = seconds() - start;

    gather(whole, x);
    upc_forall (long i = 0; i < n; i++; i) {
        long col[2 * REACH + 1];
        double val[2 * REACH + 1];
        const int count = matrix_row(i, col, val);
        double residual = 0;
        for (int k = 0; k < count; k++)
            residual += val[k] * (solution(col[k]) - whole[col[k]]);
        if (!(fabs(residual) < 1e-6) || !(fabs(whole[i] - solution(i)) < 1e-6)) {
            fprintf(stderr, "cg: unknown %ld is %.9f, expected %.9f; its equation is off by %.3g\n",
                    i, whole[i], solution(i), residual);
            upc_global_exit(1);
        }
    }
    free(whole);
    free(row_end);
    free(column);
    free(value);
    upc_barrier;
    upc_all_free(x);
    upc_all_free(r);
    upc_all_free(p);
    upc_all_free(q);
    if (MYTHREAD == 0) {
        printf("cg: %ld unknowns, %ld iterations, %d threads: %.3f s\n", n, iteration, THREADS,
               elapsed);
        printf("verification: passed\n");
    }
    return 0;
}
