// Functions over pointers-to-shared: prototypes, arrays as parameters, results, pointers to them.
#include "check.h"

int total(int n, shared [2] int v[]);
int total(int n, shared [2] int *v);
int total(int, shared [2] int[]);
static shared [2] int *advance(shared [2] int *restrict p, long by) { return p + by; }
typedef shared [2] int *step(shared [2] int *, long);
static int old_style();
static void by_rows(int n, shared int rows[][3], int out[n]);

shared [2] int v[4 * THREADS];
shared int rows[2 * THREADS][3];

int total(int n, shared [2] int v[])
{
    int sum = 0;
    while (n-- > 0)
        sum += *v++;
    return sum;
}

static int old_style(p, n)
shared [2] int *p;
int n;
{
    return total(n, p);
}

static void by_rows(int n, shared int rows[][3], int out[n])
{
    for (int i = 0; i < n; i++)
        out[i] = rows[i][0] + rows[i][1] + rows[i][2];
}

int main(void)
{
    for (int i = MYTHREAD; i < 4 * THREADS; i += THREADS)
        v[i] = i;
    upc_forall (int i = 0; i < 2 * THREADS; i++; i)
        for (int j = 0; j < 3; j++)
            rows[i][j] = i + j;
    upc_barrier;
    const int n = 4 * THREADS;
    CHECK_EQ(total(n, v), n * (n - 1) / 2);
    CHECK_EQ(total(2, &v[2]), 5);
    CHECK_EQ(old_style(v, 3), 3);
    step *move = advance, *table[2] = {advance, &advance};
    CHECK_EQ(*move(v, 3), 3);
    CHECK_EQ(*table[1](table[0](v, 1), 1), 2);
    CHECK_EQ(*(*move)(v, 2), 2);
    int out[2 * THREADS];
    by_rows(2 * THREADS, rows, out);
    for (int i = 0; i < 2 * THREADS; i++)
        CHECK_EQ(out[i], 3 * i + 3);
    PASS();
}
