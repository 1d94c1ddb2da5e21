// threads: 1 2 4
// expect-runtime: upc_wait
#include <upc.h>
int main(void)
{
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        upc_wait;
    upc_barrier;
    return 0;
}
