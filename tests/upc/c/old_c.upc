// Definitions in the old style, empty parameter lists, missing types: C of 1989 and before.
// threads: 1 2
// expect-warning: int
#include "check.h"
static int add(a, b, c)
    int a;
    char b;
    float c;
{
    return a + b + (int)c;
}
static double scale();
static char *pick(v, n) char **v; { return v[n]; }
static apply(f, x) int (*f)(); { return (*f)(x, 1, 2.0); }
static counter = 5;
static int (*choose(which))() int which; { return which ? add : (int (*)())scale; }
static struct pair { int a, b; } make(a) { struct pair p; p.a = a; p.b = 2 * a; return p; }
static int sum_rows(rows, n) int rows[][2], n;
{
    register i, s = 0;
    for (i = 0; i < n; i++)
        s += rows[i][0] * rows[i][1];
    return s;
}
static double scale(d) double d; { return d * 2; }
shared int x[THREADS];
static shared int *at(p, i) shared int *p; int i; { return p + i; }
static void nothing() {}
int main()
{
    auto int y = 1;
    char *v[2] = {"zero", "one"};
    int rows[2][2] = {{1, 2}, {3, 4}};
    CHECK_EQ(add(1, 'a', 2.5), 100);
    CHECK(scale(1.5) == 3.0);
    CHECK_EQ(pick(v, 1)[0], 'o');
    CHECK_EQ(apply(add, 3), 6);
    CHECK_EQ(counter + y, 6);
    CHECK_EQ(choose(1)(1, 1, 1.0), 3);
    CHECK_EQ(make(4).b, 8);
    CHECK_EQ(sum_rows(rows, 2), 14);
    *at(x, MYTHREAD) = 9;
    CHECK_EQ(x[MYTHREAD], 9);
    nothing(1, 2, 3);
    PASS();
}
