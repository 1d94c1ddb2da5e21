// Ways out of a loop: undefined by the specification, but they compile, and the next loop deals out again.
// static: yes
// flags: -w
#include "check.h"
#include <setjmp.h>
static jmp_buf back;
static int by_return(int n)
{
    upc_forall (int i = 0; i < n; i++; i)
        if (i >= THREADS)
            return i;
    return -1;
}
static int ran(void)
{
    int count = 0;
    upc_forall (int i = 0; i < 4 * THREADS; i++; i)
        count++;
    return count;
}
int main(void)
{
    CHECK_EQ(by_return(3 * THREADS), THREADS + MYTHREAD);
    CHECK_EQ(ran(), 4);
    CHECKED("return");
    int last = 0;
    upc_forall (int i = 0; i < 3 * THREADS; i++; i) {
        last = i;
        if (i >= THREADS)
            break;
    }
    CHECK_EQ(last, THREADS + MYTHREAD);
    CHECK_EQ(ran(), 4);
    CHECKED("break");
    upc_forall (int i = 0; i < 3 * THREADS; i++; i)
        if (i >= THREADS)
            goto out;
out:
    CHECK_EQ(ran(), 4);
    CHECKED("goto");
    upc_forall (int i = 0; i < THREADS; i++; i) {
        upc_forall (int j = 0; j < 10; j++; j)
            if (j == 5)
                break;
        CHECK_EQ(ran(), 4 * THREADS); /* still inside */
    }
    CHECK_EQ(ran(), 4);
    switch (MYTHREAD >= 0) {
    case 1:
        upc_forall (int i = 0; i < 2 * THREADS; i++; i)
            switch (i % 2) {
            case 0:
                continue;
            default:
                break;
            }
    }
    CHECK_EQ(ran(), 4);
    CHECKED("nested");
    PASS();
}
