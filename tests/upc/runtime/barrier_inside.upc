// threads: 1 2 3
// expect-runtime: barrier
#include <upc.h>
int main(void)
{
    upc_notify;
    upc_barrier;
    upc_wait;
    return 0;
}
