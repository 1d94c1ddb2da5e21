// The value given to wait differs from the one given to notify.
// threads: 1 2 3
// expect-runtime: barrier mismatch detected
#include <upc.h>
int main(void)
{
    upc_notify 4;
    upc_wait 5;
    return 0;
}
