// Which accesses are strict: by qualifier, by header, by pragma; all of them still read and write.
// threads: 1 2 4
#include <upc_strict.h>
#include "check.h"
#include <sched.h>

shared int flag[THREADS]; /* strict, since upc_strict.h came first */
#include <upc_relaxed.h>
shared int data[THREADS];
#pragma upc strict
static void announce(int to, int value) { flag[to] = value; }
static int announced(void) { return flag[MYTHREAD]; }
#pragma upc relaxed
struct s {
    int a, b;
};
strict shared struct s whole;
strict shared [2] int blocked[4 * THREADS];

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    for (int round = 1; round <= 100; round++) {
        data[right] = round;
        announce(right, round);
        while (announced() < round)
            sched_yield();
        CHECK_EQ(data[MYTHREAD], round);
        upc_barrier;
    }
    if (MYTHREAD == 0) {
        whole.a = 1;
        whole.b = whole.a + 1;
        struct s copy = whole;
        copy.b++;
        whole = copy;
    }
    {
#pragma upc strict
        blocked[4 * MYTHREAD] += 3;
        blocked[4 * MYTHREAD + 1]++;
        {
#pragma upc relaxed
            data[MYTHREAD] = 5;
        }
        data[MYTHREAD]++;
    }
    upc_barrier;
    CHECK(whole.a == 1 && whole.b == 3);
    CHECK_EQ(data[right], 6);
    CHECK_EQ(blocked[4 * right] + blocked[4 * right + 1], 4);
    strict shared int *p = (strict shared int *)&data[right];
    CHECK_EQ(*p, 6);
    PASS();
}
