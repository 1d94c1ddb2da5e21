// Barriers with and without values, split and whole; what was written before is seen after.
// static: yes
#include "check.h"

shared int slot[THREADS];
shared int total;
static int evaluated;
static int value(int v) { return evaluated++, v; }

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    for (int round = 1; round <= 200; round++) {
        slot[right] = round;
        upc_barrier;
        CHECK_EQ(slot[MYTHREAD], round);
        upc_barrier round;
    }
    for (int round = 1; round <= 200; round++) {
        slot[right] = -round;
        upc_notify;
        const int work = round * round;
        upc_wait;
        CHECK_EQ(slot[MYTHREAD], -round);
        upc_notify work;
        upc_wait work;
    }
    upc_barrier value(7);
    CHECK_EQ(evaluated, 1);
    upc_notify value(8);
    upc_wait value(8);
    CHECK_EQ(evaluated, 3);
    upc_barrier 2.9; /* converted to int */
    upc_barrier 'c';
    upc_barrier 1 + 1 == 2 ? 5 : 6;
    upc_barrier(3);
    /* Anonymous matches everything. */
    if (MYTHREAD == 0)
        upc_barrier;
    else
        upc_barrier 12;
    if (MYTHREAD % 2) {
        upc_notify 4;
        upc_wait;
    } else {
        upc_notify;
        upc_wait 4;
    }
    /* If nobody names the notify, the waits may say anything. */
    upc_notify;
    upc_wait 100 + MYTHREAD;
    upc_barrier INT32_MIN;
    upc_barrier INT32_MAX;
    upc_barrier 0;
    upc_barrier -1;
    upc_fence;
    PASS();
}
