// UPC_DEBUG_MALLOC: memory of malloc does not happen to be zero.
// threads: 1 2
// env: UPC_DEBUG_MALLOC=yes
#include "check.h"
int main(void)
{
    unsigned char *p = malloc(1000);
    CHECK_EQ(p[500], 0xa5);
    PASS();
}
