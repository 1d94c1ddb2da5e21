// Loop headers of every shape, against the plain loop with a test inside.
// static: yes
#include "check.h"

shared [4] int a[64 * THREADS];
shared int c[64 * THREADS];
shared [5] long r[16 * THREADS][6];

/* The iterations this thread ran, as a polynomial hash of the loop variable, against those it
   should have run. */
static unsigned long got, want;
static long got_count, want_count;
#define RAN(value) (got = got * 31 + (unsigned long)(value) + 1, got_count++)
#define SHOULD(condition, value)                                                                   \
    do                                                                                             \
        if (condition)                                                                             \
            want = want * 31 + (unsigned long)(value) + 1, want_count++;                           \
    while (0)
#define SAME()                                                                                     \
    do {                                                                                           \
        CHECK_EQ(got_count, want_count);                                                           \
        CHECK(got == want);                                                                        \
        got = want = 0;                                                                            \
    } while (0)
#define HERE(place) (upc_threadof(&(place)) == MYTHREAD)

int main(int argc, char **argv)
{
    const int n = 64 * THREADS;
    const int one = argc; /* 1, unknown to the compiler */

#define LOOP(init, cond, step, affinity, mine, value)                                              \
    do {                                                                                           \
        upc_forall (init; cond; step; affinity)                                                    \
            RAN(value);                                                                            \
        for (init; cond; step)                                                                     \
            SHOULD(mine, value);                                                                   \
        SAME();                                                                                    \
    } while (0)

    LOOP(int i = 0, i < n, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n, ++i, &c[i], HERE(c[i]), i);
    LOOP(int i = 0, i < n, i += 1, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n, i = i + 1, &a[i], HERE(a[i]), i);
    LOOP(int i = 3, i < n - 5, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i <= n - 1, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i != n, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, n > i, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, n >= i + 1, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n - 1, i++, &a[i + 1], HERE(a[i + 1]), i);
    LOOP(int i = 1, i < n, i++, &a[i - 1], HERE(a[i - 1]), i);
    LOOP(int i = 0, i < n, i++, &a[n - 1 - i], HERE(a[n - 1 - i]), i);
    LOOP(int i = 0, i < n, i += 2, &a[i], HERE(a[i]), i);
    LOOP(int i = 1, i < n, i += 3, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n, i += 2 * one, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n, i += THREADS, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n / 2, i++, &a[2 * i], HERE(a[2 * i]), i);
    LOOP(int i = 0, i < n / 3, i++, &a[i * 3 + 1], HERE(a[i * 3 + 1]), i);
    LOOP(int i = n - 1, i >= 0, i--, &a[i], HERE(a[i]), i);
    LOOP(int i = n - 1, i > 0, i -= 2, &a[i], HERE(a[i]), i);
    LOOP(int i = n, i-- > 0, , &a[i], HERE(a[i]), i);
    LOOP(int i = 1, i < n, i *= 2, &a[i], HERE(a[i]), i);
    LOOP(int i = 0, i < n, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 5, i < n, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 5, i < n, i += 3, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = n - 1, i >= 0, i--, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 0, i < n, i++, i + 1, (i + 1) % THREADS == MYTHREAD, i);
    LOOP(int i = 0, i < n, i++, i * one, i % THREADS == MYTHREAD, i);
    LOOP(int i = 0, i < n, i++, i / 4, i / 4 % THREADS == MYTHREAD, i);
    LOOP(long i = 0, i < n, i++, &a[i], HERE(a[i]), i);
    LOOP(unsigned i = 0, i < n, i++, &a[i], HERE(a[i]), i);
    LOOP(unsigned long i = 0, i < n, i++, &a[i], HERE(a[i]), i);
    LOOP(size_t i = 0, i < n, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(short i = 0, i < n, i++, &a[i], HERE(a[i]), i);
    LOOP(unsigned char i = 0, i < 60, i++, &a[i], HERE(a[i]), i);
    LOOP(char i = 0, i < 60, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(unsigned i = 0xfffffff0u, i != 8, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 2147483600, i < 2147483647, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 0, i < 0, i++, &a[i], HERE(a[i]), i);
    LOOP(int i = 9, i < 2, i++, i, i % THREADS == MYTHREAD, i);
    LOOP(int i = 0, i < 1, i++, &a[i], HERE(a[i]), i);
    LOOP(shared [4] int *p = a, p < a + n, p++, p, HERE(*p), p - a);
    LOOP(shared [4] int *p = a + 3, p != a + n, p++, p, HERE(*p), p - a);
    LOOP(shared int *p = c, p < c + n, p += 3, p, HERE(*p), p - c);

    /* Two variables; commas. */
    int i, j;
    upc_forall (i = 0, j = n - 1; i < j; i++, j--; &a[j])
        RAN(1000 * i + j);
    for (i = 0, j = n - 1; i < j; i++, j--)
        SHOULD(HERE(a[j]), 1000 * i + j);
    SAME();

    /* Bounds and steps that change under way. */
    int bound = n / 2;
    upc_forall (i = 0; i < bound; i++, bound -= i % 3 == 0; &a[i])
        RAN(i);
    bound = n / 2;
    for (i = 0; i < bound; i++, bound -= i % 3 == 0)
        SHOULD(HERE(a[i]), i);
    SAME();

    /* Rows that are not whole blocks. */
    upc_forall (i = 0; i < 16 * THREADS; i++; &r[i])
        RAN(i);
    for (i = 0; i < 16 * THREADS; i++)
        SHOULD(HERE(r[i]), i);
    SAME();
    upc_forall (i = 0; i < 16 * THREADS; i++; continue)
        upc_forall (j = 0; j < 6; j++; &r[i][j])
            RAN(6 * i + j);
    for (i = 0; i < 16 * THREADS; i++)
        for (j = 0; j < 6; j++)
            SHOULD(HERE(r[i][j]), 6 * i + j);
    SAME();
    upc_forall (j = 0; j < 6; j++; continue)
        upc_forall (i = 0; i < 16 * THREADS; i++; &r[i][j])
            RAN(6 * i + j);
    for (j = 0; j < 6; j++)
        for (i = 0; i < 16 * THREADS; i++)
            SHOULD(HERE(r[i][j]), 6 * i + j);
    SAME();

    /* Pointers that are variables, allocated and offset. */
    shared [4] int *p = (shared [4] int *)upc_all_alloc(16 * THREADS, 4 * sizeof(int));
    shared [4] int *q = p + 5;
    upc_forall (i = 0; i < n - 5; i++; &q[i])
        RAN(i);
    for (i = 0; i < n - 5; i++)
        SHOULD(HERE(q[i]), i);
    SAME();
    upc_forall (i = 5; i < n; i++; q + (i - 5))
        RAN(i);
    for (i = 5; i < n; i++)
        SHOULD(HERE(p[i]), i);
    SAME();
    upc_all_free(p);

    /* A private or indefinite target. */
    shared [] int *mine = (shared [] int *)upc_alloc(10 * sizeof(int));
    got_count = want_count = 0;
    upc_forall (i = 0; i < 10; i++; &mine[i])
        RAN(i);
    CHECK_EQ(got_count, 10);
    upc_free(mine);
    PASS();
}
