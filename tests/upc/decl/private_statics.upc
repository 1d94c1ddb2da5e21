// Objects of static storage that are not shared exist once per thread.
// static: yes
#include "check.h"
static int counter = 100;
int exported = 200;
int tentative;
static char text[] = "text";
static struct {
    int a[3];
    int *p;
} s = {{1, 2, 3}, &counter};
static int *next(void)
{
    static int calls = 5;
    calls++;
    return &calls;
}
int main(void)
{
    counter += MYTHREAD;
    exported -= MYTHREAD;
    tentative = MYTHREAD;
    text[0] = (char)('A' + MYTHREAD);
    s.a[1] = 10 * MYTHREAD;
    for (int i = 0; i < MYTHREAD; i++)
        next();
    upc_barrier;
    CHECK_EQ(counter, 100 + MYTHREAD);
    CHECK_EQ(*s.p, counter);
    CHECK_EQ(exported, 200 - MYTHREAD);
    CHECK_EQ(tentative, MYTHREAD);
    CHECK_EQ(text[0], 'A' + MYTHREAD);
    CHECK_EQ(s.a[1], 10 * MYTHREAD);
    CHECK_EQ(*next(), 6 + MYTHREAD);
    PASS();
}
