// Bit-fields in shared structs.
// threads: 1 2 3
#include "check.h"

struct flags {
    unsigned a : 3;
    int b : 5;
    unsigned : 0;
    unsigned long c : 40;
    _Bool d : 1;
    unsigned e : 12;
    char tail;
};
shared struct flags f[2 * THREADS];

int main(void)
{
    const int at = THREADS + (MYTHREAD + 1) % THREADS;
    f[at].a = 5;
    f[at].b = -7;
    f[at].c = 0x123456789aUL;
    f[at].d = 1;
    f[at].e = 4000;
    f[at].tail = 't';
    CHECK_EQ(f[at].a, 5);
    CHECK_EQ(f[at].b, -7);
    CHECK_EQ(f[at].c, 0x123456789aUL);
    CHECK_EQ(f[at].d, 1);
    CHECK_EQ(f[at].e, 4000);
    CHECK_EQ(f[at].tail, 't');
    CHECK_EQ(f[at].a += 4, 1); /* the value is cut to three bits */
    CHECK_EQ(f[at].a++, 1);
    CHECK_EQ(++f[at].b, -6);
    CHECK_EQ(f[at].c *= 2, 0x2468acf134UL);
    CHECK_EQ(f[at].e ^= 0xfff, 4000 ^ 0xfff);
    CHECK_EQ(f[at].a = 15, 7);
    CHECK_EQ(f[at].b, -6);
    CHECK_EQ(f[at].tail, 't');
    struct flags copy = f[at];
    CHECK(copy.a == 7 && copy.b == -6 && copy.c == 0x2468acf134UL && copy.d);
    copy.d = 0;
    f[at] = copy;
    CHECK(!f[at].d);
    CHECK_EQ((&f[at])->a + f[at].b, 1);
    CHECK_EQ(f[at - THREADS].a, 0);
    upc_barrier;
    /* Neighbouring bytes are left alone: each thread owns one member of a common struct. */
    static shared struct {
        char c[64];
    } common;
    for (int round = 0; round < 1000; round++)
        common.c[MYTHREAD % 64]++;
    upc_barrier;
    CHECK_EQ(common.c[MYTHREAD % 64], (char)1000);
    PASS();
}
