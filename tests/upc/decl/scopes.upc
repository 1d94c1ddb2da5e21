// Names hide each other as in C.
// static: yes
// threads: 1 2
#include "check.h"

shared int x = 1;
typedef shared [2] int blocks;
shared int table[THREADS];

static int parameter(int x) { return x + 1; }
static int local(void)
{
    int x = 5, blocks = 2;
    {
        static shared int x = 7;
        CHECK_EQ(x, 7);
        extern shared int table[THREADS];
        CHECK_EQ(table[0], 0);
        {
            struct x {
                int x;
            } table = {x};
            CHECK_EQ(table.x, 7);
        }
    }
    for (int x = 0; x < 1; x++)
        blocks += x;
    goto x;
x:
    return x * blocks;
}
static int first(void)
{
    static shared int own = 10;
    return own;
}
static int second(void)
{
    static shared int own = 20;
    return own;
}
static int depth(int n)
{
    static shared int deepest;
    if (MYTHREAD == 0 && n > deepest)
        deepest = n;
    return n == 5 ? deepest : depth(n + 1);
}
struct THREADS_like {
    int threads;
};
static int in_prototype(shared int *table, int n);
static int in_prototype(shared int *table, int n) { return table[n % THREADS]; }

int main(void)
{
    CHECK_EQ(x, 1);
    CHECK_EQ(parameter(3), 4);
    CHECK_EQ(local(), 10);
    CHECK_EQ(first() + second(), 30);
    if (MYTHREAD == 0)
        CHECK_EQ(depth(0), 5);
    CHECK_EQ(in_prototype(table, 1), 0);
    blocks *p = NULL;
    CHECK(p == NULL);
    {
        enum { x = 9 };
        CHECK_EQ(x, 9);
    }
    {
        typedef double x;
        x y = 0.5;
        CHECK(y == 0.5);
    }
    CHECK_EQ(x, 1);
    PASS();
}
