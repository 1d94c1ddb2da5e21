// Shared arrays of structs: a struct is never cut; members follow by offset.
// static: yes
#include "check.h"

struct inner {
    short s[3];
    char c;
};
struct record {
    char tag;
    struct inner in[2];
    double value;
    union {
        int i;
        float f;
    };
    shared int *link;
};
shared [3] struct record r[5 * THREADS];
shared int target[THREADS];

int main(void)
{
    for (int i = 0; i < 5 * THREADS; i++) {
        CHECK_EQ(upc_threadof(&r[i]), i / 3 % THREADS);
        CHECK_EQ(upc_threadof(&r[i].value), i / 3 % THREADS);
        CHECK_EQ(upc_phaseof(&r[i].in[1].c), 0);
        CHECK_EQ(upc_addrfield(&r[i].value) - upc_addrfield(&r[i]),
                 offsetof(struct record, value));
        if (i % THREADS == MYTHREAD) {
            r[i].tag = (char)i;
            r[i].in[0].s[2] = (short)(i + 1);
            r[i].in[1].s[0] = (short)(i + 2);
            r[i].in[1].c = 'x';
            r[i].value = i / 2.0;
            r[i].i = -i;
            r[i].link = &target[i % THREADS];
        }
    }
    upc_barrier;
    for (int i = 0; i < 5 * THREADS; i++) {
        CHECK_EQ(r[i].tag, (char)i);
        CHECK_EQ(r[i].in[0].s[2], i + 1);
        CHECK_EQ(r[i].in[1].s[0], i + 2);
        CHECK_EQ((&r[i])->in[1].c, 'x');
        CHECK(r[i].value == i / 2.0);
        CHECK_EQ(r[i].i, -i);
        CHECK(r[i].link == &target[i % THREADS]);
        struct record copy = r[i];
        CHECK(copy.value == i / 2.0 && copy.link == r[i].link && copy.in[1].s[0] == i + 2);
    }
    PASS();
}
