// What was written last before a thread ends is there for those that go on.
// threads: 2 3
// flags: -fupc-aggregate
// env: GASNET_NEIGHBORHOOD=off
#include "../check.h"
#include <bupc_extensions.h>
#include <stdlib.h>
#include <upc_relaxed.h>

shared long word[THREADS];

int main(void)
{
    const int last = THREADS - 1;
    if (MYTHREAD == 0) {
        word[last] = 42;
        exit(0);
    }
    if (MYTHREAD == last) {
        while (*(volatile long *)(long *)&word[last] != 42)
            bupc_poll();
        printf("passed\n");
    }
    return 0;
}
