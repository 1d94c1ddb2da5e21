// A program that brings its own collective functions: its header is found, its feature macro accepted, its functions run.
// threads: 1 3
// flags: -D__UPC_COLLECTIVE__=1 -D__UPC_ATOMIC__=1
// files: _own_part.upc
#include "_own/upc_collective.h"
#include "../check.h"
#ifndef OWN_COLLECTIVE
#error the wrong header
#endif
extern int own_calls;
shared [] int source[2];
shared [2] int target[2 * THREADS];
int main(void)
{
    if (MYTHREAD == 0) {
        source[0] = 3;
        source[1] = 4;
    }
    upc_barrier;
    upc_all_broadcast(target, source, 2 * sizeof(int), 0);
    CHECK_EQ(own_calls, 1);
    CHECK_EQ(target[2 * MYTHREAD] * 10 + target[2 * MYTHREAD + 1], 34);
    PASS();
}
