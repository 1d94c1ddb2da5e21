// Files included inside functions and enumerations, and sources that include sources.
// threads: 1 2
#include "check.h"
#include "_part.c"
enum numbers {
#include "_in_enum.inc"
};
static const int table[] = {
#define ITEM(x) x * 2,
    ITEM(1) ITEM(2)
#undef ITEM
};
int main(void)
{
    int sum = 0;
    shared int *p = &part[MYTHREAD];
    *p = 3;
    {
#include "_in_function.inc"
    }
    CHECK_EQ(sum, 8);
    CHECK_EQ(TWO, 2);
    CHECK_EQ(part_function(), 7);
    CHECK_EQ(table[1], 4);
    PASS();
}
