// The words after `#pragma upc` are not macro names.
// threads: 1 2
#define strict not_the_word
#pragma upc strict
#undef strict
#define upc not_ours
#pragma upc relaxed it_is_ours // expect-warning: it_is_ours
#undef upc
#include "check.h"
shared int x;
int main(void)
{
#define relaxed not_the_word
    _Pragma("upc relaxed")
#undef relaxed
    x = 1;
    CHECK_EQ(x, 1);
    PASS();
}
