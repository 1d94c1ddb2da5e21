// Threads that wait for their own memory by relaxed reads in empty loops: writes of threads elsewhere
// arrive meanwhile, also if no other thread of the process makes progress. With 500 ms for each it would
// take too long.
// threads: 2 3
// env: GASNET_CONDUIT=udp
// env: GASNET_NEIGHBORHOOD=off
#include "../check.h"
#include <upc_relaxed.h>

#define TURNS 600
shared long flag[THREADS];

int main(void)
{
    int right = (MYTHREAD + 1) % THREADS;
    upc_barrier;
    for (long turn = 1; turn <= TURNS; turn++) {
        if (MYTHREAD == 0) {
            flag[right] = turn;
            upc_fence;
        }
        switch (turn % 3) {
        case 0:
            while (flag[MYTHREAD] < turn)
                ;
            break;
        case 1:
            for (; flag[MYTHREAD] < turn;) {
            }
            break;
        default:
            do {
            } while (flag[MYTHREAD] < turn);
        }
        if (MYTHREAD != 0) {
            flag[right] = turn;
            upc_fence;
        }
    }
    PASS();
}
