// Ways of writing one layout: the types are the same.
// static: yes
#include "check.h"
shared int a[4 * THREADS];
shared [1] int b[4 * THREADS];
shared [] int c[4];
shared [0] int d[4];
shared [*] int e[4 * THREADS];
shared [4] int f[4 * THREADS];
enum { FOUR = 4 };
typedef shared [FOUR] int four;
extern shared [1] int a[4 * THREADS];
extern shared [0] int c[4];
extern shared [2 + 2] int e[4 * THREADS];
static int one(shared [1] int *p) { return *p; }
static int one(shared int *p);
static int none(shared [] int *p) { return *p; }
int main(void)
{
    shared [1] int *p = a;
    shared int *q = b;
    shared [0] int *r = c;
    shared [] int *s = d;
    shared [4] int *t = e;
    four *u = f;
    t = u;
    CHECK(p == a && q == b && p != q && r == c && s == d && r != s && t == f && u != e);
    CHECK_EQ(one(a) + one(b) + none(c) + none(d), 0);
    CHECK_EQ(_Generic(p, shared int *: 1, default: 0) + _Generic(r, shared [] int *: 1, default: 0) +
                 _Generic(t, four *: 1, default: 0) + _Generic(p, shared [2] int *: 0, default: 1),
             4);
    PASS();
}
