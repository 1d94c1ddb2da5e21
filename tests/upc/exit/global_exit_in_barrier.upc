// upc_global_exit also reaches threads that wait in a barrier, or compute.
// threads: 2 3 8
// expect-exit: 200
#include <upc.h>

int main(void)
{
    if (MYTHREAD == THREADS - 1)
        upc_global_exit(200);
    if (MYTHREAD % 2) {
        volatile unsigned long spin = 0;
        for (;;)
            spin++;
    }
    upc_barrier;
    return 0;
}
