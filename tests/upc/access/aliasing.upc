// A shared object is one object, whatever kind of lvalue it is seen through.
// static: yes
#include "check.h"
shared [3] int a[6 * THREADS];
shared float f[THREADS];
struct pair {
    int x, y;
};
shared [2] struct pair p[2 * THREADS];

__attribute__((noinline)) static int through(shared [3] int *s, int *l, shared [] int *i)
{
    *s = 1;
    *l = 2;
    *i += *s;
    *s += *l;
    return *l;
}
__attribute__((noinline)) static int members(shared [2] struct pair *s, struct pair *l, int *x)
{
    s->x = 5;
    l->x++;
    *x += s->x;
    return s->x + l->x;
}

int main(void)
{
    const int mine = 3 * MYTHREAD;
    int *local = (int *)&a[mine];
    shared [] int *indefinite = (shared [] int *)&a[mine];
    shared int *cyclic = (shared int *)&a[mine];
    CHECK_EQ(through(&a[mine], local, indefinite), 8);
    a[mine] = 10;
    CHECK_EQ(*local, 10);
    *local = 11;
    CHECK_EQ(a[mine] + *indefinite + *cyclic, 33);
    *indefinite = 12;
    CHECK_EQ(a[mine] + *local, 24);
    /* The private elements are in a row. */
    for (int i = 0; i < 3; i++)
        local[i] = i;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(a[mine + i], i);
    CHECKED("same-object");
    p[2 * MYTHREAD].x = 0;
    struct pair *whole = (struct pair *)&p[2 * MYTHREAD];
    CHECK_EQ(members(&p[2 * MYTHREAD], whole, &whole->x), 24);
    CHECK_EQ(p[2 * MYTHREAD].x, 12);
    /* Access by access: the lvalue's type says whether an access is shared. */
    int *by_cast = (int *)&f[MYTHREAD];
    f[MYTHREAD] = 1.0f;
    char bytes[4];
    __builtin_memcpy(bytes, by_cast, 4);
    CHECK(bytes[3] == 0x3f || bytes[0] == 0x3f);
    CHECKED("by-lvalue");
    PASS();
}
