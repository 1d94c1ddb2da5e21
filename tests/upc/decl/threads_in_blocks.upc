// Types with THREADS in them declared in blocks: typedefs and what is made of them, prototypes, casts, sizeof, members.
// threads: 1 2 5
#include "check.h"

#include <stdlib.h>

static int sum(int x[THREADS])
{
    int s = 0;
    for (int i = 0; i < THREADS; i++)
        s += x[i];
    return s;
}

static int last(int (*x)[THREADS]) { return (*x)[THREADS - 1]; }
int corner(int n, int x[n][THREADS]) { return x[n - 1][THREADS - 1]; }
int far_corner(int n, int m, int (*x)[n][m], int (*f)(int k, int (*)[k])) { return f(m, &(*x)[n - 1]); }
static int end_of(int k, int (*x)[k]) { return (*x)[k - 1]; }

static void typedefs(void)
{
    typedef int aa[THREADS];
    aa x;
    for (int i = 0; i < THREADS; i++)
        x[i] = i;
    typedef aa bb[2];
    bb y;
    y[1][THREADS - 1] = 3;
    aa *p = &x, *q = &y[1];
    (*p)[0] = 4;
    typedef int (*pa)[THREADS];
    pa r = &x;
    CHECK_EQ((*r)[0], 4);
    CHECK(sizeof x == THREADS * sizeof(int) && sizeof(aa) == sizeof x && sizeof y == 2 * sizeof x);
    CHECK(sizeof(bb) == sizeof y && sizeof *p == sizeof x && sizeof *r == sizeof x);
    CHECK_EQ(sum(y[1]) - sum(y[1]) + last(q), 3);
    CHECK_EQ(last((aa *)y + 1), 3);
    CHECK_EQ(last((pa)y + 1), 3);
    typedef int taker(aa *);
    taker *f = last, *g[THREADS];
    g[THREADS - 1] = f;
    CHECK_EQ(g[THREADS - 1](y + 1), 3);
    const aa *c = (const aa *)&x;
    CHECK_EQ((*c)[0], 4);
    __typeof__(x) z;
    typedef __typeof__(z) zz;
    zz w;
    w[THREADS - 1] = z[0] = MYTHREAD;
    CHECK_EQ(w[THREADS - 1], MYTHREAD);
    pa made = malloc(2 * sizeof(aa));
    made[1][THREADS - 1] = 7;
    CHECK_EQ(last(made + 1), 7);
    free(made);
    CHECK(_Alignof(aa) == _Alignof(int) && sizeof(aa[3]) == 3 * sizeof x);
    CHECK_EQ(({ typedef char cc[2 * THREADS]; cc s; s[0] = 1; (int)sizeof s + s[0]; }), 2 * THREADS + 1);
    for (aa i; (i[0] = 0) > 0;)
        ;
    int n = 2;
    typedef int vv[n][THREADS];
    n = 9;
    vv k;
    k[1][THREADS - 1] = 5;
    CHECK(sizeof k == 2 * sizeof x && sizeof(vv) == sizeof k);
    CHECK_EQ(corner(2, k), 5);
    CHECK_EQ(far_corner(2, THREADS, &k, end_of), 5);
}

static shared int row[2 * THREADS];

/* With shared in the same statements. */
static void with_shared(void)
{
    typedef int aa[THREADS];
    typedef shared int sa[THREADS];
    aa x;
    row[MYTHREAD] = MYTHREAD + 1;
    upc_barrier;
    for (int i = 0; i < THREADS; i++)
        x[i] = row[i];
    aa *p = &x;
    x[0] += row[0] + sizeof(aa) - sizeof(sa) + sizeof(shared int[THREADS]) - sizeof *p;
    CHECK_EQ(x[0], 2);
    CHECK_EQ((*(aa *)p)[THREADS - 1] + row[0], THREADS == 1 ? 3 : THREADS + 1);
    sa *s = (sa *)row;
    shared aa *t = (shared aa *)row;
    CHECK_EQ((*s)[THREADS - 1] + (*t)[0], THREADS + 1);
    static shared aa own;
    own[MYTHREAD] = MYTHREAD;
    upc_barrier;
    CHECK_EQ(own[THREADS - 1], THREADS - 1);
    const int k = row[0] + last((aa *)&x);
    aa *two[2] = {row[0] ? &x : NULL, p};
    CHECK_EQ((*two[0])[THREADS - 1], k - 1);
    struct both {
        shared int *s;
        aa *a;
    } b = {&row[MYTHREAD], p};
    CHECK_EQ(*b.s + (*b.a)[THREADS - 1] - MYTHREAD, k);
}

static void tags_and_prototypes(void)
{
    typedef int aa[THREADS];
    struct plain {
        int x;
    } v[THREADS], (*pv)[THREADS] = &v;
    union either {
        int x;
        float f;
    } u[2][THREADS];
    enum { THREE = 3 } e[THREADS];
    struct with {
        int a[THREADS];
        aa b;
        aa *c;
    } w;
    (*pv)[THREADS - 1].x = THREE;
    u[1][THREADS - 1].x = v[THREADS - 1].x;
    e[THREADS - 1] = THREE;
    w.b[THREADS - 1] = 4;
    w.c = &w.b;
    CHECK_EQ(u[1][THREADS - 1].x + e[THREADS - 1] + last(w.c), 10);
    CHECK(sizeof w >= 2 * sizeof(aa) && sizeof u == 2 * THREADS * sizeof(union either));
    int corner(int n, int x[n][THREADS]);
    int far_corner(int n, int m, int (*x)[n][m], int (*f)(int k, int (*)[k]));
    extern int corner(int n, int (*x)[THREADS]);
    aa x[2];
    x[1][THREADS - 1] = 6;
    int (*f)(int, aa *) = corner;
    CHECK_EQ(f(2, x), 6);
    int (*g)(int n, int x[n][THREADS]) = (int (*)(int n, int x[n][THREADS]))f;
    CHECK_EQ(g(2, x), 6);
    CHECK_EQ(far_corner(2, THREADS, &x, (int (*)(int k, int (*)[k]))end_of), 6);
    static int (*kept)[THREADS];
    kept = x;
    CHECK_EQ(last(kept + 1), 6);
}

int main(void)
{
    typedefs();
    with_shared();
    tags_and_prototypes();
    PASS();
}
