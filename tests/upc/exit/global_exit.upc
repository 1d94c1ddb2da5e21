// upc_global_exit ends all threads at once, with its status; finished lines appear.
// threads: 1 2 4
// expect-exit: 3
// expect: before the end
#include <upc.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (MYTHREAD == 0)
        printf("before the end\n");
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        upc_global_exit(3);
    for (;;)
        pause();
}
