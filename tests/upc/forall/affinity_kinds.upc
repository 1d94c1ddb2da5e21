// Who runs an iteration, for each kind of affinity.
// static: yes
#include "check.h"

shared [3] int a[7 * THREADS];
shared int ran[8][7 * THREADS];
shared [] int single[20];

#define EXPECT(row, n, owner)                                                                      \
    do {                                                                                           \
        upc_barrier;                                                                               \
        for (int i = 0; i < (n); i++)                                                              \
            CHECK_EQ(ran[row][i], (owner) + 1);                                                    \
    } while (0)

int main(void)
{
    const int n = 7 * THREADS;
    int i;
    upc_forall (i = 0; i < n; i++; i) {
        CHECK_EQ(ran[0][i], 0); /* nobody else ran it */
        ran[0][i] += MYTHREAD + 1;
    }
    CHECK_EQ(i, n);
    EXPECT(0, n, i % THREADS);
    upc_forall (i = 0; i < n; i++; &a[i])
        ran[1][i] += MYTHREAD + 1;
    EXPECT(1, n, i / 3 % THREADS);
    upc_forall (i = 0; i < n; i++; (shared void *)&a[i])
        ran[2][i] += MYTHREAD + 1;
    EXPECT(2, n, i / 3 % THREADS);
    upc_forall (i = 0; i < 20; i++; &single[i])
        CHECK_EQ(MYTHREAD, 0);
    upc_forall (i = 0; i < n; i++; 2L * i + 1)
        ran[3][i] += MYTHREAD + 1;
    EXPECT(3, n, (2 * i + 1) % THREADS);
    upc_forall (i = 0; i < n; i++; (unsigned char)(i / 2))
        ran[4][i] += MYTHREAD + 1;
    EXPECT(4, n, i / 2 % THREADS);
    upc_forall (i = 0; i < n; i++; 0x7ffffffffffffff0ULL + i)
        ran[5][i] += MYTHREAD + 1;
    EXPECT(5, n, (0x7ffffffffffffff0ULL + i) % THREADS);
    upc_forall (i = 0; i < n; i++; a + (n - 1 - i))
        ran[6][i] += MYTHREAD + 1;
    EXPECT(6, n, (n - 1 - i) / 3 % THREADS);
    upc_forall (shared [3] int *p = a; p < a + n; p++; p)
        ran[7][p - a] += upc_threadof(p) + 1;
    EXPECT(7, n, i / 3 % THREADS);

    /* `continue` and nothing: everybody runs everything. */
    int count = 0;
    upc_forall (i = 0; i < n; i++; continue)
        count++;
    CHECK_EQ(count, n);
    upc_forall (i = 0; i < n; i++;)
        count++;
    CHECK_EQ(count, 2 * n);

    /* One value of affinity: the same thread runs all. */
    count = 0;
    upc_forall (i = 0; i < n; i++; THREADS - 1)
        count++;
    CHECK_EQ(count, MYTHREAD == THREADS - 1 ? n : 0);
    count = 0;
    upc_forall (i = 0; i < n; i++; MYTHREAD)
        count++;
    CHECK_EQ(count, n);
    PASS();
}
