// Addresses of shared objects as constants: at file scope, in static locals, nested, across files.
// static: yes
// files: _addresses_other.upc
#include "check.h"

extern shared int x;
extern shared [3] int a[5 * THREADS];
struct s {
    int pad;
    int f;
    int list[4];
};
shared struct s s;
shared [2] struct s many[3 * THREADS];

shared int *p = &x;
shared [3] int *q = a;
shared [3] int *r = &a[4];
shared [3] int *t = a + 2;
shared [] int *f = &s.f;
shared [] int *g = &many[2].list[3];
shared void *v = &a[3];
shared [3] int *none = 0;
shared int *shared in_shared = &x;
shared [3] int *shared both[THREADS] = {&a[1]};
struct holder {
    const char *name;
    struct {
        shared [3] int *p;
        shared int *q[2];
    } in;
};
struct holder nested[2] = {{"one", {&a[2], {0, &x}}}, {.in = {.p = a + 3}}};
const struct {
    shared int *p;
} constant = {&x};
extern shared [3] int *from_other;
int private_before = 7;
int *ordinary = &private_before;

static int read_static_local(void)
{
    static shared [3] int *here = &a[4];
    static struct holder deep[1] = {{.in.q = {&x}}};
    return here == &a[4] && deep[0].in.q[0] == &x;
}

int main(void)
{
    CHECK(p == &x && *p == 31);
    CHECK(q == &a[0]);
    CHECK(r == &a[4] && upc_phaseof(r) == 1 && upc_threadof(r) == 1 % THREADS);
    CHECK(t == &a[2] && upc_phaseof(t) == 2);
    CHECK(f == &s.f);
    CHECK(g == &many[2].list[3]);
    CHECK(v == &a[3]);
    CHECK(none == NULL);
    CHECK(in_shared == &x);
    CHECK(both[0] == &a[1]);
    if (THREADS > 1)
        CHECK(both[1] == NULL);
    CHECK(nested[0].in.p == &a[2] && nested[0].in.q[0] == NULL && nested[0].in.q[1] == &x);
    CHECK(nested[0].name[0] == 'o');
    CHECK(nested[1].in.p == &a[3] && nested[1].name == NULL);
    CHECK(constant.p == &x);
    CHECK(from_other == &a[2]);
    CHECK(read_static_local());
    CHECK_EQ(*ordinary, 7);
    /* A static local keeps what it was given at run time. */
    static shared int *kept = &x;
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            kept = NULL;
        CHECK(kept == NULL);
    }
    PASS();
}
