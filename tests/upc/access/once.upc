// The address in an assignment is evaluated once, operands as often as in C.
// threads: 1 2 3
#include "check.h"

shared [2] int a[8 * THREADS];
struct s {
    int x;
    unsigned bits : 5;
    int list[4];
};
shared struct s r[2 * THREADS];
static int calls;
static int next(void) { return calls++; }
static shared [2] int *where(void) { return &a[8 * MYTHREAD + calls++]; }
static shared struct s *which(void)
{
    calls++;
    return &r[MYTHREAD];
}

int main(void)
{
    const int base = 8 * MYTHREAD;
    a[base + next()]++;
    CHECK_EQ(calls, 1);
    CHECK_EQ(a[base], 1);
    a[base + next()] += 5;
    CHECK_EQ(calls, 2);
    CHECK_EQ(a[base + 1], 5);
    *where() -= 3;
    CHECK_EQ(calls, 3);
    CHECK_EQ(a[base + 2], -3);
    CHECK_EQ((*where())--, 0);
    CHECK_EQ(calls, 4);
    CHECK_EQ(a[base + 3], -1);
    int i = 4;
    a[base + i++] |= 6;
    CHECK_EQ(i, 5);
    CHECK_EQ(a[base + 4], 6);
    calls = 0;
    which()->x += 2;
    which()->bits += 3;
    which()->list[next() & 0]++;
    (*which()).list[2]--;
    CHECK_EQ(calls, 5);
    CHECK_EQ(r[MYTHREAD].x, 2);
    CHECK_EQ(r[MYTHREAD].bits, 3);
    CHECK_EQ(r[MYTHREAD].list[0], 1);
    CHECK_EQ(r[MYTHREAD].list[2], -1);
    calls = 0;
    a[base + next()] = a[base + next() + 3] = 9;
    CHECK_EQ(calls, 2);
    shared [2] int *p = &a[base];
    *p++ = 1;
    *p++ += 2;
    CHECK_EQ(p - &a[base], 2);
    (*p)++;
    CHECK_EQ(p - &a[base], 2);
    calls = 0;
    struct s whole = *which();
    *which() = whole;
    CHECK_EQ(calls, 2);
    calls = 0;
    int n = sizeof *which() + upc_threadof(where());
    CHECK(n > 0 && calls == 1);
    calls = 0;
    (void)(a[base + next()] && a[base + next()] && 0);
    CHECK(calls == 1 || calls == 2);
    PASS();
}
