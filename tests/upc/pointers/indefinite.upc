// Pointers without a block size stay on their thread.
// static: yes
#include "check.h"

shared [] int *shared table[THREADS];

int main(void)
{
    table[MYTHREAD] = (shared [] int *)upc_alloc(20 * sizeof(int));
    for (int i = 0; i < 20; i++)
        table[MYTHREAD][i] = 100 * MYTHREAD + i;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        shared [] int *p = table[t], *end = p + 20;
        CHECK_EQ(end - p, 20);
        CHECK_EQ(p - end, -20);
        CHECK(p < end && end > p && p <= end && p != end);
        for (int i = 0; p < end; p++, i++) {
            CHECK_EQ(upc_threadof(p), t);
            CHECK_EQ(upc_phaseof(p), 0);
            CHECK_EQ(*p, 100 * t + i);
            CHECK_EQ(p[-i], 100 * t);
        }
        p = end;
        CHECK_EQ(*--p, 100 * t + 19);
        CHECK_EQ(*(p - 3), 100 * t + 16);
        p -= 10;
        CHECK_EQ(p[1], 100 * t + 10);
    }
    upc_barrier;
    upc_free(table[MYTHREAD]);
    PASS();
}
