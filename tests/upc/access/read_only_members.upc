// Structures with read-only members are read whole: returned, passed, copied; bit-fields among them.
#include "check.h"

struct item {
    const int a : 5;
    int b;
    const int c;
    volatile short d;
};
union either {
    const int i;
    float f;
};
shared [] struct item one = { 3, 4, 5, 6 };
shared [] const struct item several[2] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
strict shared struct item ordered = { 9, 10, 11, 12 };
shared volatile struct item watched = { 13, 14, 15, 16 };
shared union either u = { 17 };

static struct item get(void) { return one; }
static struct item get_one_of(int i) { return several[i]; }
static int sum(struct item s) { return s.a + s.b + s.c + s.d; }

int main(void)
{
    struct item s = one, t = ordered;
    union either v = u;
    CHECK_EQ(sum(s) + sum(t), 18 + 42);
    CHECK_EQ(sum(get()), 18);
    CHECK_EQ(sum(get_one_of(1)), 26);
    CHECK_EQ(sum(several[0]), 10);
    CHECK_EQ(sum(watched), 58);
    CHECK_EQ(v.i, 17);
    CHECK_EQ(one.a + several[1].a + ordered.c + (MYTHREAD >= 0 ? one : watched).b, 23);
    PASS();
}
