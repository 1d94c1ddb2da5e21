// upc_alloc, upc_global_alloc, upc_all_alloc: where the memory is, that objects do not overlap,
// that freed memory comes back.
// static: yes
#include "check.h"

shared [] long *shared mine[THREADS];
shared [4] int *shared global[THREADS];

int main(void)
{
    /* Own memory. */
    mine[MYTHREAD] = (shared [] long *)upc_alloc(1000 * sizeof(long));
    CHECK(mine[MYTHREAD] != NULL);
    CHECK_EQ(upc_threadof(mine[MYTHREAD]), MYTHREAD);
    CHECK_EQ(upc_phaseof(mine[MYTHREAD]), 0);
    CHECK_EQ((long)(long *)mine[MYTHREAD] % 16, 0);
    for (int i = 0; i < 1000; i++)
        mine[MYTHREAD][i] = 1000L * MYTHREAD + i;

    /* One object for each caller, spread over all. */
    global[MYTHREAD] = (shared [4] int *)upc_global_alloc(5 * THREADS, 4 * sizeof(int));
    CHECK_EQ(upc_threadof(global[MYTHREAD]), 0);
    for (int i = 0; i < 20 * THREADS; i++)
        global[MYTHREAD][i] = 7 * i + MYTHREAD;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < 20 * THREADS; i++) {
            CHECK_EQ(global[t][i], 7 * i + t);
            CHECK_EQ(upc_threadof(&global[t][i]), i / 4 % THREADS);
        }
        for (int i = 0; i < 1000; i += 37)
            CHECK_EQ(mine[t][i], 1000L * t + i);
        if (t != MYTHREAD)
            CHECK(global[t] != global[MYTHREAD]);
    }

    /* The same object for all. */
    shared [10] double *all = (shared [10] double *)upc_all_alloc(3 * THREADS, 10 * sizeof(double));
    static shared [10] double *shared first;
    if (MYTHREAD == 0)
        first = all;
    upc_barrier;
    CHECK(all == first);
    upc_forall (int i = 0; i < 30 * THREADS; i++; &all[i])
        all[i] = i;
    upc_barrier;
    for (int i = 0; i < 30 * THREADS; i++)
        CHECK(all[i] == i);
    upc_barrier;
    upc_all_free(all);

    /* Somebody else may free. */
    upc_free(mine[(MYTHREAD + 1) % THREADS]);
    upc_free(global[(MYTHREAD + 1) % THREADS]);
    upc_barrier;

    /* Nothing. */
    CHECK(upc_alloc(0) == NULL);
    CHECK(upc_global_alloc(0, 10) == NULL && upc_global_alloc(10, 0) == NULL);
    CHECK(upc_all_alloc(0, 10) == NULL && upc_all_alloc(5, 0) == NULL);
    upc_free(NULL);
    upc_all_free(NULL);
    void (*release)(shared void *) = &upc_free;
    shared void *(*get)(size_t) = upc_alloc;
    release(get(100));

    /* Fewer blocks than threads, and blocks that are not whole elements' worth. */
    shared [] char *small = (shared [] char *)upc_all_alloc(1, 3);
    CHECK_EQ(upc_threadof(small), 0);
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        small[2] = 'z';
    upc_barrier;
    CHECK_EQ(small[2], 'z');
    upc_all_free(small);

    /* Freed memory is used again: altogether this is far more than a heap holds. */
    for (int i = 0; i < 3000; i++) {
        shared [] char *p = (shared [] char *)upc_alloc(8 << 20);
        p[(8 << 20) - 1] = 1;
        upc_free(p);
    }
    for (int i = 0; i < 100; i++) {
        shared [] char *p = (shared [] char *)upc_all_alloc(THREADS, 4 << 20);
        upc_all_free(p);
    }
    PASS();
}
