// threads: 2 3 4 8
// expect-runtime: barrier mismatch detected
#include <upc.h>
int main(void)
{
    upc_barrier 1;
    upc_barrier 10 + (MYTHREAD == THREADS - 1);
    return 0;
}
