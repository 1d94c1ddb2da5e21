// Packed structs and casts give shared objects at odd addresses.
// threads: 1 2 3
#include "check.h"

struct __attribute__((packed)) odd {
    char c;
    long l;
    double d;
    short s;
};
shared struct odd o[3 * THREADS];

int main(void)
{
    CHECK_EQ(sizeof(struct odd), 19);
    const int at = 2 * THREADS + (MYTHREAD + 1) % THREADS;
    o[at].c = 1;
    o[at].l = 1L << 60;
    o[at].d = 0.125;
    o[at].s = -2;
    o[at].l++;
    o[at].d *= 2;
    CHECK_EQ(o[at].l, (1L << 60) + 1);
    CHECK(o[at].d == 0.25);
    CHECK_EQ(o[at].s, -2);
    CHECK_EQ(o[at].c, 1);
    shared [] long *p = &o[at].l;
    *p += 5;
    CHECK_EQ(*p, (1L << 60) + 6);
    PASS();
}
