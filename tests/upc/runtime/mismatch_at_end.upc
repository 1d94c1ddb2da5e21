// The end of the program is a barrier that matches none of the program's.
// threads: 2 3
// expect-runtime: barrier
#include <upc.h>
int main(void)
{
    if (MYTHREAD == 0)
        upc_barrier 0;
    return 0;
}
