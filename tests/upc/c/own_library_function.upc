// A program's own definition of a library function wins over ours.
// threads: 1 2
#include "check.h"

static int used;
void upc_memput(shared void *restrict to, const void *restrict from, size_t n)
{
    used++;
    for (size_t i = 0; i < n; i++)
        ((shared [] char *)to)[i] = ((const char *)from)[i];
}

shared [8] char c[8 * THREADS];

int main(void)
{
    upc_memput(&c[8 * MYTHREAD], "abcdefg", 8);
    CHECK_EQ(used, 1);
    CHECK_EQ(c[8 * MYTHREAD + 6], 'g');
    PASS();
}
