// Arrays of arrays: the layout counts the innermost elements, also when rows are not whole blocks.
// static: yes
#include "check.h"

#define THREAD_OF(i, B) ((i) / (B) % THREADS)

shared int a[THREADS][5];
shared [3] int b[4 * THREADS][7];
shared [10] long c[3][2 * THREADS][5];
shared [4] char d[THREADS][2][3][2];

int main(void)
{
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 5; j++) {
            CHECK_EQ(upc_threadof(&a[i][j]), THREAD_OF(5 * i + j, 1));
            if (upc_threadof(&a[i][j]) == MYTHREAD)
                a[i][j] = 100 * i + j;
        }
    for (int i = 0; i < 4 * THREADS; i++) {
        CHECK_EQ(upc_threadof(&b[i]), THREAD_OF(7 * i, 3));
        CHECK_EQ(upc_phaseof(&b[i]), 7 * i % 3);
        CHECK_EQ(upc_phaseof(b[i]), 7 * i % 3);
        for (int j = 0; j < 7; j++) {
            const int at = 7 * i + j;
            CHECK_EQ(upc_threadof(&b[i][j]), THREAD_OF(at, 3));
            CHECK_EQ(upc_phaseof(&b[i][j]), at % 3);
            if (at % THREADS == MYTHREAD)
                b[i][j] = at;
        }
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2 * THREADS; j++)
            for (int k = 0; k < 5; k++) {
                const int at = (i * 2 * THREADS + j) * 5 + k;
                CHECK_EQ(upc_threadof(&c[i][j][k]), THREAD_OF(at, 10));
                CHECK_EQ(upc_phaseof(&c[i][j][k]), at % 10);
                if (MYTHREAD == 0)
                    c[i][j][k] = 1000000000000L + at;
            }
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 12; j++) {
            CHECK_EQ(upc_threadof(&d[i][j / 6][j / 2 % 3][j % 2]), THREAD_OF(12 * i + j, 4));
            if (MYTHREAD == i)
                d[i][j / 6][j / 2 % 3][j % 2] = (char)(i + j);
        }
    upc_barrier;
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 5; j++)
            CHECK_EQ(a[i][j], 100 * i + j);
    shared [3] int *flat = &b[0][0];
    for (int at = 0; at < 28 * THREADS; at++) {
        CHECK_EQ(b[at / 7][at % 7], at);
        CHECK_EQ(flat[at], at);
        CHECK(&flat[at] == &b[at / 7][at % 7]);
    }
    for (int at = 0; at < 30 * THREADS; at++)
        CHECK_EQ(c[at / 5 / (2 * THREADS)][at / 5 % (2 * THREADS)][at % 5], 1000000000000L + at);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 12; j++)
            CHECK_EQ(d[i][j / 6][j / 2 % 3][j % 2], i + j);
    PASS();
}
