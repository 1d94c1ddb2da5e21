// Ways of writing a bound with THREADS once, in the dynamic environment.
// static: yes
#include "check.h"

#define N 4
#define TOTAL (N * THREADS)
shared int a[THREADS];
shared int b[(THREADS)];
shared int c[10 * THREADS];
shared int d[THREADS * (100 * 20)];
shared int e[(2 * N) * THREADS];
shared int f[1UL * THREADS];
shared int g[sizeof(int) * THREADS];
shared int h[TOTAL];
shared int i[100 * 20 * THREADS];
shared int j[THREADS * 'a'];
shared [2] int k[3][THREADS * 2][5];
shared [2] int l[3][2][THREADS];
enum { MANY = 6 };
shared int m[THREADS * MANY];

int main(void)
{
    CHECK_EQ(sizeof a / sizeof(int), THREADS);
    CHECK_EQ(sizeof b / sizeof(int), THREADS);
    CHECK_EQ(sizeof c / sizeof(int), 10 * THREADS);
    CHECK_EQ(sizeof d / sizeof(int), 2000 * THREADS);
    CHECK_EQ(sizeof e / sizeof(int), 8 * THREADS);
    CHECK_EQ(sizeof f / sizeof(int), THREADS);
    CHECK_EQ(sizeof g / sizeof(int), 4 * THREADS);
    CHECK_EQ(sizeof h / sizeof(int), 4 * THREADS);
    CHECK_EQ(sizeof i / sizeof(int), 2000 * THREADS);
    CHECK_EQ(sizeof j / sizeof(int), 97 * THREADS);
    CHECK_EQ(sizeof k / sizeof(int), 30 * THREADS);
    CHECK_EQ(sizeof l / sizeof(int), 6 * THREADS);
    CHECK_EQ(sizeof m / sizeof(int), 6 * THREADS);
    int vla[THREADS]; /* a private array of run-time size */
    for (int t = 0; t < THREADS; t++)
        vla[t] = t;
    CHECK_EQ(sizeof vla, THREADS * sizeof(int));
    CHECK_EQ(vla[THREADS - 1], THREADS - 1);
    d[1999 * THREADS] = 5;
    CHECK_EQ(d[1999 * THREADS], 5);
    PASS();
}
