// Ways of making an access strict. Two threads each write one variable and read the other: if all four accesses are strict,
// not both can read the old value. (That they are, and that others are not, is also held by the tests of the compiler.)
// threads: 2 3
#include <upc_relaxed.h>
#include "check.h"
#define WRITE(v) ((v) = 1)
#define READ(v) (v)
shared [] int a[2];
strict shared [] int by_qualifier[2];
relaxed shared [] int relaxed_always[2];
shared int seen[THREADS];

#define LITMUS(name, array)                                                                        \
    static void name(int me)                                                                       \
    {                                                                                              \
        WRITE(array[me]);                                                                          \
        seen[me] = READ(array[1 - me]);                                                            \
    }
LITMUS(qualified, by_qualifier)
#include <upc_strict.h>
LITMUS(included, a)
LITMUS(qualifier_wins, relaxed_always)
#include <upc_relaxed.h>
#include <upc_strict.h> /* the second time, too */
LITMUS(included_again, a)
#pragma upc relaxed
static void in_block(int me)
{
    int got;
    {
#pragma upc strict
        WRITE(a[me]);
        {
            got = READ(a[1 - me]);
        }
    }
    seen[me] = got;
}
#define DO_IN_STRICT_BLOCK                                                                         \
    {                                                                                              \
        _Pragma("upc strict") WRITE(a[me]);                                                        \
        got = READ(a[1 - me]);                                                                     \
    }
static void by_operator(int me)
{
    int got;
    DO_IN_STRICT_BLOCK
    seen[me] = got;
}
static void by_cast(int me)
{
    *(strict shared [] int *)&a[me] = 1;
    seen[me] = *(strict shared [] int *)&a[1 - me];
}

static void check(void (*test)(int), int ordered)
{
    for (int round = 0; round < 200; round++) {
        if (MYTHREAD < 2)
            test(MYTHREAD);
        upc_barrier;
        CHECK(!ordered || seen[0] || seen[1]);
        upc_barrier;
        if (MYTHREAD == 0)
            for (int i = 0; i < 2; i++)
                a[i] = by_qualifier[i] = relaxed_always[i] = 0;
        upc_barrier;
    }
}

int main(void)
{
    check(qualified, 1);
    CHECKED("qualifier");
    check(included, 1);
    check(included_again, 1);
    CHECKED("headers");
    check(qualifier_wins, 0);
    check(in_block, 1);
    check(by_operator, 1);
    CHECKED("blocks");
    check(by_cast, 1);
    CHECKED("casts");
    PASS();
}
