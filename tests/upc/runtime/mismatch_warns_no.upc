// UPC_BARRIER_MISMATCH_WARNS=no is as if it was not set.
// threads: 2 3
// env: UPC_BARRIER_MISMATCH_WARNS=no
// expect-runtime: barrier mismatch detected
#include <upc.h>
int main(void)
{
    upc_barrier MYTHREAD;
    return 0;
}
