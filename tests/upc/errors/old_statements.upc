// Statements of UPC 1.0 are no more.
#include <upc.h>
int main(void)
{
    barrier; // expect-error:
    barrier_notify; // expect-error:
    barrier_wait; // expect-error:
    fence; // expect-error:
    return 0;
}
