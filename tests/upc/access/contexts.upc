// Shared objects in every place an expression can stand.
// threads: 1 2 4
#include "check.h"
#include <stdarg.h>

shared int x, y;
shared [4] double v[4 * THREADS];
shared int *shared linked;
struct point {
    int x, y;
};
shared struct point p[THREADS];
shared const int constant = 11;
shared volatile int changing;

static double twice(double d) { return 2 * d; }
static struct point swap(struct point q)
{
    struct point r = {q.y, q.x};
    return r;
}
static double sum(int n, ...)
{
    va_list args;
    va_start(args, n);
    double s = 0;
    while (n--)
        s += va_arg(args, double);
    s += va_arg(args, int);
    s += va_arg(args, struct point).y;
    va_end(args);
    return s;
}
static int give(void) { return x; }

int main(void)
{
    if (MYTHREAD == 0) {
        x = 3;
        y = 4;
        linked = &y;
        changing = 6;
        for (int i = 0; i < 4 * THREADS; i++)
            v[i] = i;
    }
    p[MYTHREAD].x = MYTHREAD;
    p[MYTHREAD].y = -MYTHREAD;
    upc_barrier;

    CHECK(twice(v[1]) == 2);
    CHECK(sum(3, v[1], v[2], v[3], x, p[THREADS - 1]) == 6 + 3 - (THREADS - 1));
    struct point q = swap(p[THREADS - 1]);
    CHECK(q.x == 1 - THREADS && q.y == THREADS - 1);
    CHECK_EQ((x, y), 4);
    CHECK_EQ(x > y ? x : y, 4);
    CHECK_EQ((x ? p[0] : p[THREADS - 1]).x, 0);
    CHECK_EQ(x && y, 1);
    CHECK_EQ(!x || !y, 0);
    CHECK_EQ(give() + *linked, 7);
    CHECK_EQ(constant + changing, 17);
    CHECK_EQ((char)x + (int)v[2], 5);
    CHECK_EQ(-x + ~y, -3 - 5);
    CHECK_EQ(*&x, 3);
    CHECK_EQ((&p[0])->x, 0);
    CHECK_EQ((*&p[THREADS - 1]).y, 1 - THREADS);
    CHECK_EQ(({ int t = x; t + y; }), 7);
    CHECK_EQ(*(x ? &x : &y), 3);
    CHECK_EQ((x == 3) + (x != 3) + (x < y) + (x <= y) + (x > y) + (x >= y), 3);
    int table[] = {x, y, [4] = *linked}, index[8] = {0};
    CHECK(table[0] == 3 && table[1] == 4 && table[3] == 0 && table[4] == 4);
    index[x] = index[y] = 1;
    CHECK(index[3] && index[4]);
    struct point init = {.y = x, .x = y};
    CHECK(init.x == 4 && init.y == 3);
    CHECK_EQ(((struct point){x, y}).y, 4);
    struct point whole = p[0];
    CHECK_EQ(whole.x, 0);
    char vla[x + y];
    CHECK_EQ(sizeof vla, 7);
    switch (x) {
    case 3:
        break;
    default:
        CHECK(0);
    }
    int rounds = 0;
    for (int i = x; i < y + 2; i++)
        rounds++;
    CHECK_EQ(rounds, 3);
    while (rounds > x)
        rounds--;
    do
        rounds++;
    while (rounds < y);
    CHECK_EQ(rounds, 4);
    if (x)
        rounds = 0;
    CHECK_EQ(rounds, 0);
    upc_barrier;

    /* Assignments as values. */
    int t;
    shared [4] double *mine = &v[4 * MYTHREAD];
    t = mine[0] = 2.75;
    CHECK_EQ(t, 2);
    CHECK(mine[0] == 2.75);
    mine[1] = mine[2] = t = 8;
    CHECK(mine[1] + mine[2] == 16);
    if ((mine[3] = t + 1) != 9)
        CHECK(0);
    p[MYTHREAD] = swap(p[MYTHREAD]);
    CHECK_EQ(p[MYTHREAD].x, -MYTHREAD);
    p[MYTHREAD] = (struct point){5, 6};
    CHECK_EQ((p[MYTHREAD] = swap(p[MYTHREAD])).x, 6);
    upc_barrier;
    whole = p[(MYTHREAD + 1) % THREADS];
    CHECK(whole.x == 6 && whole.y == 5);
    PASS();
}
