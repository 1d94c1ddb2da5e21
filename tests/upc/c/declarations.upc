// Declarations in every order and place.
// threads: 1 2
#include "check.h"
int a = 1;
extern int a;
int a;
static int b;
extern int b;
static int b = 2;
int tentative[];
int tentative[4];
int (*fp(int))(int);
static int twice(int x) { return 2 * x; }
int (*fp(int i))(int) { return i ? twice : 0; }
int (*(*table[2])(int))(int) = {fp, 0};
char (*(*x[3])())[5];
static int (*row(int n))[3]
{
    static int rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
    return rows + n;
}
typedef int function(int), array[3], *pointer;
function twice;
static function *chosen = twice;
array v = {1, 2, 3}, *pv = &v;
const pointer cp = v;
struct node {
    struct node *next, *(*self)(struct node *);
    int value;
};
static struct node *same(struct node *n) { return n; }
struct outer {
    struct inner {
        int i;
    } in;
    struct inner *p;
};
static struct inner tagged_inside = {3};
int unsigned long const volatile static strange = 5;
long int unsigned long odd = 6;
signed s = -1;
int f(), g(void), h(int, ...);
int f() { return 1; }
int g(void) { extern int a; return a; }
int h(int n, ...) { return n; }
struct only_tag;
typedef struct only_tag only_tag;
struct only_tag {
    int n;
};
void typedef_hidden(int pointer) { pointer++; }
;
int main(void)
{
    extern int a, f(), late;
    int local(int), b = 5;
    CHECK_EQ(a + f() + g() + h(3) + b, 1 + 1 + 1 + 3 + 5);
    {
        extern int a;
        CHECK_EQ(a, 1);
    }
    CHECK_EQ(local(2), 9);
    CHECK_EQ(late, 12);
    CHECK_EQ(fp(1)(4) + table[0](1)(5), 18);
    CHECK_EQ((*row(1))[2], 6);
    CHECK_EQ(chosen(3) + (*pv)[2] + cp[1], 6 + 3 + 2);
    struct node n = {&n, same, 4};
    CHECK_EQ(n.next->self(n.next)->next->value, 4);
    struct outer o = {{1}, &tagged_inside};
    CHECK_EQ(o.p->i + o.in.i, 4);
    CHECK_EQ(strange + odd + s, 10);
    CHECK_EQ(sizeof tentative, 16);
    only_tag t = {2};
    struct t {
        int t;
    } u = {t.n};
    CHECK_EQ(u.t, 2);
    int pointer = 3, *q = &pointer;
    CHECK_EQ(*q * pointer, 9);
    typedef int t2, u2;
    t2 (t3) = 4, (*t4) = &t3;
    {
        u2 u2 = *t4;
        CHECK_EQ(u2, 4);
    }
    for (int i = 0; i < 1; i++) {
        int i = 7;
        CHECK_EQ(i, 7);
    }
    PASS();
}
int local(int x) { return x + 7; }
int late = 12;
