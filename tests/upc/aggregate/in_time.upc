// A relaxed write leaves when its thread goes on to wait, or to poll, without any synchronisation.
// threads: 2
// static: no
// flags: -fupc-aggregate
// env: GASNET_NEIGHBORHOOD=off
#include "../check.h"
#include <bupc_extensions.h>
#include <upc_relaxed.h>

shared int ball[THREADS];

static int mine(void) { return *(volatile int *)(int *)&ball[MYTHREAD]; }

int main(void)
{
    const int other = 1 - MYTHREAD;
    for (int i = 1; i <= 20; i++) {
        if (MYTHREAD == 0)
            ball[other] = i;
        while (mine() != i)
            bupc_poll();
        if (MYTHREAD == 1) {
            ball[other] = i;
            /* Nothing but polls: what the other waits for is under way some time. */
            while (i < 20 && mine() == i)
                bupc_poll();
        }
    }
    /* A thread that waits in upc_wait has sent it. */
    upc_notify;
    if (MYTHREAD == 0)
        ball[other] = 100;
    else
        while (mine() != 100)
            bupc_poll();
    upc_wait;
    PASS();
}
