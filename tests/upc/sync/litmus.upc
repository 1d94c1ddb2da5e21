// Strict accesses have one order for all: no thread pair may both read the old value (store
// buffering), and a message never comes after its flag.
// threads: 2 4
#include "check.h"
#include <upc_relaxed.h>
#include <sched.h>

strict shared int x, y;
shared int seen[THREADS];
shared [] int payload[64];
strict shared int sent;

int main(void)
{
    for (int round = 0; round < 300; round++) {
        if (MYTHREAD == 0) {
            x = 1;
            seen[0] = y;
        } else if (MYTHREAD == 1) {
            y = 1;
            seen[1] = x;
        }
        upc_barrier;
        CHECK(seen[0] || seen[1]);
        upc_barrier;
        if (MYTHREAD == 0)
            x = y = 0;
        upc_barrier;
    }
    /* The same with relaxed accesses and fences. */
    static shared int u, v;
    for (int round = 0; round < 300; round++) {
        if (MYTHREAD == 0) {
            u = 1;
            upc_fence;
            seen[0] = v;
        } else if (MYTHREAD == 1) {
            v = 1;
            upc_fence;
            seen[1] = u;
        }
        upc_barrier;
        CHECK(seen[0] || seen[1]);
        upc_barrier;
        if (MYTHREAD == 0)
            u = v = 0;
        upc_barrier;
    }
    for (int round = 1; round <= 300; round++) {
        if (MYTHREAD == 0) {
            for (int i = 0; i < 64; i++)
                payload[i] = round * 100 + i;
            sent = round;
        } else {
            while (sent < round)
                sched_yield();
            for (int i = 0; i < 64; i++)
                CHECK_EQ(payload[i], round * 100 + i);
        }
        upc_barrier;
    }
    /* A thread sees its own relaxed writes, by whatever name. */
    shared [] int *first = (shared [] int *)&payload[MYTHREAD];
    upc_barrier;
    if (MYTHREAD < 64)
        for (int i = 0; i < 1000; i++) {
            payload[MYTHREAD] = i;
            CHECK_EQ(*first, i);
            *first = -i;
            CHECK_EQ(payload[MYTHREAD], -i);
        }
    PASS();
}
