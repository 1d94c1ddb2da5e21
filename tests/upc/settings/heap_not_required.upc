// With UPC_REQUIRE_SHARED_SIZE=no the program gets the heap that there is, after a warning.
// threads: 1 2
// static: no
// env: UPC_SHARED_HEAP_SIZE=1TB
// env: UPC_REQUIRE_SHARED_SIZE=no
// expect-once: UPC Runtime warning: a heap of 1048576 MB per thread was requested
#include "check.h"
int main(void)
{
    shared [] char *p = upc_alloc(100 << 20);
    p[99 << 20] = 1;
    CHECK_EQ(p[99 << 20], 1);
    PASS();
}
