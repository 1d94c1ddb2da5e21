/* NAS CG: the smallest eigenvalue of a sparse symmetric matrix by inverse power iteration, each step of
   which solves a linear system by 25 steps of the method of conjugate gradients.

   What it shows: vectors dealt out in one piece per thread, gathered piece by piece; private pointers to
   one's own piece; sums over all threads.

   Check: the eigenvalue's estimate is the published one. */
#include <upc_relaxed.h>
#include "nas.h"

#define SEED 314159265u
#define INNER 25
#define CONDITION 0.1

static const char classes[] = "SWAB";
static const struct {
    int rows, per_row, steps;
    double shift, zeta;
} published[] = {
    {1400, 7, 15, 10, 8.5971775078648},
    {7000, 8, 15, 12, 10.362595087124},
    {14000, 11, 15, 20, 17.130235054029},
    {75000, 13, 75, 60, 22.712745482631},
};

/* The matrix is a sum of outer products of sparse random vectors, this is one of them. */
struct sparse {
    int count;
    int *at;
    double *value;
};

static int n, low, high; /* rows in all; the rows here are [low, high) */

/* The next random vector: `count` different places with a value each, and 1/2 at `row`. `marked` is all
   zeros before and after. */
static void random_vector(struct sparse *v, int count, int row, uint64_t *x, char *marked)
{
    int bound = 1;
    while (bound < n)
        bound *= 2;
    v->count = 0;
    while (v->count < count) {
        const double value = nas_random(x);
        const int at = (int)(bound * nas_random(x));
        if (at >= n || marked[at])
            continue;
        marked[at] = 1;
        v->at[v->count] = at;
        v->value[v->count++] = value;
    }
    int there = 0;
    for (int k = 0; k < v->count; k++) {
        marked[v->at[k]] = 0;
        if (v->at[k] == row) {
            v->value[k] = 0.5;
            there = 1;
        }
    }
    if (!there) {
        v->at[v->count] = row;
        v->value[v->count++] = 0.5;
    }
}

/* One number of the matrix on its way to its place. */
struct entry {
    int column;
    double value;
};

static int by_column(const void *a, const void *b)
{
    const int x = ((const struct entry *)a)->column, y = ((const struct entry *)b)->column;
    return (x > y) - (x < y);
}

/* The rows of this thread, one after another. */
static int *row_start, *column;
static double *value;

static void make_matrix(int per_row, double shift)
{
    uint64_t x = nas_next(SEED, NAS_A); /* the first number is used for nothing */
    char *marked = calloc(n, 1);
    struct sparse *vectors = malloc(n * sizeof *vectors);
    const int width = per_row + 1;
    int *places = malloc((size_t)n * width * sizeof *places);
    double *values = malloc((size_t)n * width * sizeof *values);
    int *filled = calloc(high - low + 1, sizeof *filled);
    for (int i = 0; i < n; i++) {
        struct sparse *v = &vectors[i];
        v->at = places + (size_t)i * width;
        v->value = values + (size_t)i * width;
        random_vector(v, per_row, i, &x, marked);
        for (int k = 0; k < v->count; k++)
            if (v->at[k] >= low && v->at[k] < high)
                filled[v->at[k] - low + 1] += v->count;
    }
    const int rows = high - low;
    for (int r = 0; r < rows; r++)
        filled[r + 1] += filled[r];
    struct entry *entries = malloc((filled[rows] + 1L) * sizeof *entries);
    int *next = malloc((rows + 1) * sizeof *next);
    memcpy(next, filled, (rows + 1) * sizeof *next);

    const double ratio = pow(CONDITION, 1.0 / n);
    double size = 1;
    for (int i = 0; i < n; i++, size *= ratio) {
        const struct sparse *v = &vectors[i];
        for (int k = 0; k < v->count; k++) {
            const int row = v->at[k];
            if (row < low || row >= high)
                continue;
            const double scale = size * v->value[k];
            for (int c = 0; c < v->count; c++) {
                const double extra = v->at[c] == i && row == i ? CONDITION - shift : 0;
                entries[next[row - low]++] = (struct entry){v->at[c], v->value[c] * scale + extra};
            }
        }
    }
    free(values);
    free(places);
    free(vectors);
    free(marked);

    /* Sort each row and add up what is in the same place. */
    row_start = malloc((rows + 1) * sizeof *row_start);
    column = malloc((filled[rows] + 1L) * sizeof *column);
    value = malloc((filled[rows] + 1L) * sizeof *value);
    int at = 0;
    for (int r = 0; r < rows; r++) {
        row_start[r] = at;
        qsort(entries + filled[r], filled[r + 1] - filled[r], sizeof *entries, by_column);
        for (int k = filled[r]; k < filled[r + 1]; k++)
            if (at > row_start[r] && column[at - 1] == entries[k].column) {
                value[at - 1] += entries[k].value;
            } else {
                column[at] = entries[k].column;
                value[at++] = entries[k].value;
            }
    }
    row_start[rows] = at;
    free(entries);
    free(next);
    free(filled);
}

/* The pieces of the vector that is multiplied, two in turn, and the whole of it here. */
static shared [] double *shared piece[THREADS];
static double *whole;

static int first_row(int t) { return (int)((long)n * t / THREADS); }

/* out = A v, where v is this thread's piece. */
static void multiply(double *out, const double *v)
{
    static int turn;
    const int rows = high - low, widest = n / THREADS + 1;
    turn ^= 1; /* others may still fetch the last one */
    memcpy((double *)piece[MYTHREAD] + (long)turn * widest, v, rows * sizeof *v);
    upc_barrier;
    for (int i = 0; i < THREADS; i++) {
        const int t = (MYTHREAD + i) % THREADS, from = first_row(t);
        upc_memget(whole + from, piece[t] + (long)turn * widest,
                   (first_row(t + 1) - from) * sizeof(double));
    }
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int k = row_start[r]; k < row_start[r + 1]; k++)
            sum += value[k] * whole[column[k]];
        out[r] = sum;
    }
}

static double dot(const double *u, const double *v)
{
    double sum = 0;
    for (int r = 0; r < high - low; r++)
        sum += u[r] * v[r];
    return nas_sum(sum);
}

/* Solves A z = x nearly; returns how far off z is. */
static double solve(double *z, const double *x, double *r, double *p, double *q)
{
    const int rows = high - low;
    for (int k = 0; k < rows; k++) {
        z[k] = 0;
        r[k] = p[k] = x[k];
    }
    double rho = dot(r, r);
    for (int step = 0; step < INNER; step++) {
        multiply(q, p);
        const double alpha = rho / dot(p, q);
        for (int k = 0; k < rows; k++) {
            z[k] += alpha * p[k];
            r[k] -= alpha * q[k];
        }
        const double old = rho;
        rho = dot(r, r);
        for (int k = 0; k < rows; k++)
            p[k] = r[k] + rho / old * p[k];
    }
    multiply(q, z);
    for (int k = 0; k < rows; k++)
        q[k] -= x[k];
    return sqrt(dot(q, q));
}

int main(int argc, char **argv)
{
    const int class = nas_class(argc, argv, "nas_cg", classes);
    n = published[class].rows;
    low = first_row(MYTHREAD);
    high = first_row(MYTHREAD + 1);
    make_matrix(published[class].per_row, published[class].shift);

    const int rows = high - low, room = rows + 1;
    double *x = malloc(5L * room * sizeof *x), *z = x + room, *r = z + room, *p = r + room, *q = p + room;
    whole = malloc(n * sizeof *whole);
    piece[MYTHREAD] = (shared [] double *)upc_alloc(2L * (n / THREADS + 1) * sizeof(double));
    upc_barrier;

    double zeta = 0, start = 0, off = 0;
    /* The first step is for warming up. */
    for (int step = -1; step < published[class].steps; step++) {
        if (step <= 0) {
            for (int k = 0; k < rows; k++)
                x[k] = 1;
            upc_barrier;
            start = seconds();
        }
        off = solve(z, x, r, p, q);
        zeta = published[class].shift + 1 / dot(x, z);
        const double length = 1 / sqrt(dot(z, z));
        for (int k = 0; k < rows; k++)
            x[k] = length * z[k];
    }
    const double elapsed = seconds() - start;

    const double nonzero = published[class].per_row + 1.0;
    const double mops = 2e-6 * published[class].steps * n *
                        (3 + nonzero * published[class].per_row + INNER * (5 + nonzero * published[class].per_row) + 3);
    int passed = nas_close("zeta", zeta, published[class].zeta, 1e-10);
    passed &= off < 1e-6;
    free(x);
    free(whole);
    free(row_start);
    free(column);
    free(value);
    upc_barrier; /* nobody fetches any more */
    upc_free(piece[MYTHREAD]);
    return nas_report("CG", classes[class], elapsed, mops, passed);
}
