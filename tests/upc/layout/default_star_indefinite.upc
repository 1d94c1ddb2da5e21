// The layouts without a number: none, [*], [] and [0].
// static: yes
#include "check.h"

shared int cyclic[6 * THREADS];
shared [*] int even[6 * THREADS];
shared [*] short rows[4 * THREADS][3];
shared [] int single[10];
shared [0] double zero[4];

int main(void)
{
    for (int i = 0; i < 6 * THREADS; i++) {
        CHECK_EQ(upc_threadof(&cyclic[i]), i % THREADS);
        CHECK_EQ(upc_phaseof(&cyclic[i]), 0);
        CHECK_EQ(upc_threadof(&even[i]), i / 6);
        CHECK_EQ(upc_phaseof(&even[i]), i % 6);
    }
    CHECK_EQ(upc_blocksizeof(cyclic), 1);
    CHECK_EQ(upc_blocksizeof(even), 6);
    CHECK_EQ(upc_blocksizeof(rows), 12);
    CHECK_EQ(upc_blocksizeof(single), 0);
    CHECK_EQ(upc_blocksizeof(zero), 0);
    for (int i = 0; i < 4 * THREADS; i++)
        for (int j = 0; j < 3; j++) {
            CHECK_EQ(upc_threadof(&rows[i][j]), i / 4);
            CHECK_EQ(upc_phaseof(&rows[i][j]), (3 * i + j) % 12);
        }
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(upc_threadof(&single[i]), 0);
        CHECK_EQ(upc_phaseof(&single[i]), 0);
        if (MYTHREAD == THREADS - 1)
            single[i] = i * i;
    }
    if (MYTHREAD == 0)
        for (int i = 0; i < 4; i++)
            zero[i] = i + 0.5;
    upc_barrier;
    for (int i = 0; i < 10; i++)
        CHECK_EQ(single[i], i * i);
    for (int i = 0; i < 4; i++)
        CHECK(zero[i] == i + 0.5);
    PASS();
}
