// Pointers to rows: arithmetic goes by whole rows of innermost elements.
// static: yes
#include "check.h"

shared [3] int a[4 * THREADS][7];

static int row_sum(shared [3] int (*row)[7])
{
    int sum = 0;
    for (int j = 0; j < 7; j++)
        sum += (*row)[j];
    return sum;
}

int main(void)
{
    const int rows = 4 * THREADS;
    for (int i = MYTHREAD; i < rows; i += THREADS)
        for (int j = 0; j < 7; j++)
            a[i][j] = 7 * i + j;
    upc_barrier;
    shared [3] int (*p)[7] = a;
    for (int i = 0; i < rows; i++, p++) {
        CHECK(p == &a[i]);
        CHECK_EQ(p - a, i);
        CHECK_EQ(upc_phaseof(p), 7 * i % 3);
        CHECK_EQ((*p)[6], 7 * i + 6);
        CHECK_EQ(p[0][3], 7 * i + 3);
        CHECK_EQ(row_sum(p), 49 * i + 21);
        CHECK_EQ(row_sum(&a[i]), 49 * i + 21);
        shared [3] int *q = a[i];
        CHECK_EQ(q[6], 7 * i + 6);
    }
    CHECK_EQ(*(*(a + 2) + 5), 19);
    CHECK_EQ(5 [a[2]], 19);
    p = a + rows - 1;
    CHECK_EQ((*p)[0], 7 * (rows - 1));
    CHECK_EQ(a < p + 1, 1);
    PASS();
}
