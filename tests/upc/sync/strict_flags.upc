// Threads that wait for each other through strict variables: data written before is seen after.
// threads: 1 2 3 4
#include "check.h"
#include <sched.h>

strict shared int token;
strict shared int ready[THREADS];
shared int data[THREADS];
shared [] strict int *shared flag_of[THREADS];

int main(void)
{
    /* A token goes round; each holder adds to relaxed data. */
    static shared long sum;
    for (int round = 0; round < 50; round++) {
        while (token != round * THREADS + MYTHREAD)
            sched_yield();
        sum += MYTHREAD + 1;
        token = round * THREADS + MYTHREAD + 1;
    }
    upc_barrier;
    CHECK_EQ(sum, 50L * THREADS * (THREADS + 1) / 2);

    /* Producer and consumer, right to left. */
    const int right = (MYTHREAD + 1) % THREADS;
    for (int i = 1; i <= 200; i++) {
        while (ready[right] != i - 1) /* taken by the neighbour */
            sched_yield();
        data[right] = i * 3;
        ready[right] = -i;
        while (ready[MYTHREAD] != -i)
            sched_yield();
        CHECK_EQ(data[MYTHREAD], i * 3);
        ready[MYTHREAD] = i;
    }
    upc_barrier;

    /* Strict by pointer, and by pragma in a block. */
    flag_of[MYTHREAD] = (shared [] strict int *)upc_alloc(sizeof(int));
    *flag_of[MYTHREAD] = 0;
    upc_barrier;
    {
#pragma upc strict
        data[MYTHREAD] = 1000 + MYTHREAD;
        *flag_of[right] = 1;
        while (*flag_of[MYTHREAD] == 0)
            sched_yield();
    }
    CHECK_EQ(data[(MYTHREAD + THREADS - 1) % THREADS], 1000 + (MYTHREAD + THREADS - 1) % THREADS);
    PASS();
}
