// Shared objects that are no arrays live on thread 0, whatever their layout qualifier says.
// static: yes
#include "check.h"

shared int x;
shared [3] int y;
shared [] double z;
shared [*] char w;
static shared long hidden;
struct pair {
    int a;
    double b;
};
shared struct pair p;
shared int *shared q;
int *shared private_in_shared;

static shared int *counter(void)
{
    static shared int count;
    return &count;
}

int main(void)
{
    CHECK_EQ(upc_threadof(&x), 0);
    CHECK_EQ(upc_threadof(&y), 0);
    CHECK_EQ(upc_threadof(&z), 0);
    CHECK_EQ(upc_threadof(&w), 0);
    CHECK_EQ(upc_threadof(&p), 0);
    CHECK_EQ(upc_threadof(&q), 0);
    CHECK_EQ(upc_threadof(counter()), 0);
    CHECK_EQ(x, 0);
    CHECK(q == NULL);
    CHECK(private_in_shared == NULL);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        x = 1;
        y = 2;
        z = 3.5;
        w = 'w';
        hidden = 1L << 40;
        p.a = 4;
        p.b = 0.25;
        q = &x;
        *counter() = 77;
    }
    upc_barrier;
    CHECK_EQ(x + y, 3);
    CHECK(z == 3.5);
    CHECK_EQ(w, 'w');
    CHECK_EQ(hidden, 1L << 40);
    CHECK(p.a == 4 && p.b == 0.25);
    CHECK(q == &x);
    CHECK_EQ(*q, 1);
    CHECK_EQ(*counter(), 77);
    PASS();
}
