// Threads that run different builds of a program are found out before they compute: one more shared
// variable, one of another size, pointers of the other form, another number of threads, another heap.
// threads: 2
// static: no
// then: $SOURCES/_other_build.sh $BIN $SOURCES $SCRATCH
#include "../check.h"

shared int before[10 * THREADS];
#ifdef MORE
shared int more[MORE * THREADS];
#endif
shared int last[THREADS];

int main(void)
{
    last[MYTHREAD] = MYTHREAD;
    upc_barrier;
    CHECK_EQ(last[(MYTHREAD + 1) % THREADS], (MYTHREAD + 1) % THREADS);
    PASS();
}
