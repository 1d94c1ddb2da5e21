// Values of barriers are compared where both sides have one.
// static: yes
#include "check.h"
int main(void)
{
    /* Nobody names the notify: named waits are no error. */
    upc_notify;
    upc_wait 3 + MYTHREAD;
    CHECKED("named-wait");
    /* Some name it, all the same. */
    if (MYTHREAD % 2)
        upc_notify;
    else
        upc_notify 6;
    upc_wait;
    if (MYTHREAD == 0) {
        upc_notify 8;
        upc_wait 8;
    } else {
        upc_notify;
        upc_wait 8;
    }
    CHECKED("consensus");
    upc_barrier -1;
    upc_barrier 0;
    upc_barrier 2147483647;
    upc_barrier - 2147483647 - 1;
    CHECKED("all-ints");
    PASS();
}
