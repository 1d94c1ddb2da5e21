// threads: 1 2 4
// expect-runtime: upc_notify
#include <upc.h>
int main(void)
{
    upc_notify;
    if (MYTHREAD == 0)
        upc_notify;
    upc_wait;
    return 0;
}
