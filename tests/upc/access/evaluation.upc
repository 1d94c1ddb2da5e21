// Shared objects in short circuits, conditions, comma lists, void contexts; what is not evaluated.
// threads: 1 2
#include "check.h"

shared int a[4 * THREADS];
static int calls;
static shared int *at(int i) { return calls++, &a[i]; }
static int fail(void)
{
    CHECK(0);
    return 0;
}

int main(void)
{
    const int i = MYTHREAD, j = MYTHREAD + THREADS;
    a[i] = 0;
    a[j] = 7;
    CHECK_EQ(a[i] && fail(), 0);
    CHECK_EQ(a[j] || fail(), 1);
    CHECK_EQ(a[i] ? fail() : a[j], 7);
    CHECK_EQ(a[j] ?: fail(), 7);
    (void)a[i];
    a[i];
    (void)sizeof a[fail()];
    (void)sizeof(a[i] = fail());
    *at(i), *at(j);
    calls = 0;
    int x = (*at(i) = 3, *at(j) = 4, *at(i) + *at(j));
    CHECK_EQ(x, 7);
    CHECK_EQ(calls, 4);
    if (a[i] == 3 && (a[i] = 5) && a[i]++ == 5 && a[i] == 6)
        x = a[i];
    CHECK_EQ(x, 6);
    for (a[i] = 0; a[i] < 10; a[i]++)
        if (a[i] == 4)
            break;
    CHECK_EQ(a[i], 4);
    while (a[i]-- > 0)
        ;
    CHECK_EQ(a[i], -1);
    do {
        a[i] += 2;
        if (a[i] < 6)
            continue;
        a[i] = 100;
    } while (a[i] < 50);
    CHECK_EQ(a[i], 100);
    switch (a[i] / 50) {
    case 2:
        a[i] = 1;
        /* falls through */
    case 3:
        a[i] += 1;
        break;
    default:
        fail();
    }
    CHECK_EQ(a[i], 2);
    shared int *p = a[i] == 2 ? &a[j] : NULL;
    CHECK_EQ(*(a[i] ? p : &a[i]), 4);
    *(a[i] ? p : &a[i]) += 5;
    CHECK_EQ(a[j], 9);
    int *restrict here = (int *)&a[i];
    const int before = *here;
    a[i] = before + 1;
    CHECK_EQ(*here, before + 1);
    x = a[i] = a[j] = 12;
    CHECK_EQ(x + a[i] + a[j], 36);
    unsigned char narrow = a[j] = 300;
    CHECK_EQ(narrow, 44);
    CHECK_EQ(({ a[j]; }), 300);
    CHECK_EQ(-a[j] + +a[j] + !a[j] + ~~a[j], 300);
    PASS();
}
