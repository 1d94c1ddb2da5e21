// A loop that runs through the local part of an array still counts, for whatever the body does with its variable: addresses of
// elements, arrays inside elements, sizes, pointers, sums.
// static: yes
#include "check.h"

#define N 7
struct cell {
    int value, part[3];
    shared int *link;
};
shared int sum;
shared int cyclic[N * THREADS];
shared [3] int blocked[N * THREADS];
shared [2] struct cell cells[N * THREADS];

static int owned(shared void *p)
{
    return (int)upc_threadof(p) == MYTHREAD;
}

int main(void)
{
    int i, mine = 0, parts = 0;
    upc_forall (i = 0; i < N * THREADS; i++; &cyclic[i])
        if (!owned(&cyclic[i]))
            upc_global_exit(2);
    CHECK_EQ(i, N * THREADS);
    upc_forall (i = 0; i < N * THREADS; i++; &blocked[i])
        if (upc_threadof(&blocked[i]) != MYTHREAD)
            upc_global_exit(3);
        else
            mine++;
    upc_forall (i = 0; i < N * THREADS; i++; &cyclic[i])
        *&cyclic[i] = 5 * i;
    upc_forall (i = 0; i < N * THREADS; i++; &blocked[i]) {
        shared [3] int *p = &blocked[i];
        *p = 6 * i;
        blocked[i]++;
    }
    upc_forall (i = 0; i < N * THREADS; i++; &cells[i])
        cells[i].part[2] = 7 * i;
    upc_forall (i = 0; i < N * THREADS; i++; &cells[i])
        cells[i].value = sizeof cells[i].part;
    upc_forall (i = 0; i < N * THREADS; i++; &cells[i])
        cells[i].link = &cyclic[i];
    upc_forall (i = 0; i < N * THREADS; i++; &cells[i])
        (&cells[i])->part[1] = 1;
    upc_forall (i = 0; i < N * THREADS; i++; &cyclic[i])
        if (MYTHREAD == 0)
            sum = cyclic[i] - sum;
    upc_barrier;
    int alternating = 0;
    for (i = 0; i < N; i++)
        alternating = cyclic[i * THREADS] - alternating;
    CHECK_EQ(sum, alternating);
    for (i = 0; i < N * THREADS; i++) {
        CHECK_EQ(cyclic[i], 5 * i);
        CHECK_EQ(blocked[i], 6 * i + 1);
        CHECK_EQ(cells[i].part[2], 7 * i);
        CHECK_EQ(cells[i].value, 3 * sizeof(int));
        CHECK(cells[i].link == &cyclic[i]);
        parts += cells[i].part[1];
        if (upc_threadof(&blocked[i]) == MYTHREAD)
            mine--;
    }
    CHECK_EQ(parts, N * THREADS);
    CHECK_EQ(mine, 0);
    PASS();
}
