// UPC_STACK_SIZE lets the stack grow beyond the usual 8 MB.
// threads: 1 2
// env: UPC_STACK_SIZE=64
#include "check.h"
static int deep(int n)
{
    volatile char room[1 << 20];
    room[0] = n;
    room[sizeof room - 1] = n;
    return n == 0 ? 0 : deep(n - 1) + room[0] - room[sizeof room - 1];
}
int main(void)
{
    CHECK_EQ(deep(40), 0);
    PASS();
}
