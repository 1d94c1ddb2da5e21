// The words after `#pragma upc` are not macro names.
// threads: 1 2
#define strict relaxed_not_this
#define upc nothing
#pragma upc strict
#undef strict
#undef upc
#include "check.h"
shared int x;
int main(void)
{
    _Pragma("upc relaxed")
    x = 1;
    CHECK_EQ(x, 1);
    PASS();
}
