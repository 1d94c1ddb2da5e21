// A source of several hundred thousand tokens, written by macros: long functions, wide switches, long initialisers, deep nesting.
// threads: 1 2
// flags: -O1
#include "check.h"
#define T4(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define T3(m, n) T4(m, n##0) T4(m, n##1) T4(m, n##2) T4(m, n##3) T4(m, n##4) T4(m, n##5) T4(m, n##6) T4(m, n##7) T4(m, n##8) T4(m, n##9)
#define T2(m, n) T3(m, n##0) T3(m, n##1) T3(m, n##2) T3(m, n##3) T3(m, n##4) T3(m, n##5) T3(m, n##6) T3(m, n##7) T3(m, n##8) T3(m, n##9)
shared [100] int a[1000 * THREADS];
#define FUNCTION(n) static int f##n(int x) { return x > 1##n ? x : x - 1##n; }
T2(FUNCTION, )
#define ITEM(n) 1##n - 1000,
static const int numbers[] = {T2(ITEM, )};
#define SHARED_ITEM(n) 1##n,
shared [10] int initialised[1000 * THREADS] = {T2(SHARED_ITEM, )};
#define CASE(n) case 1##n: return f##n(x) + 1;
static int choose(int x)
{
    switch (x) {
        T2(CASE, )
    }
    return 0;
}
#define STATEMENT(n) a[1##n - 1000] += f##n(1##n) + a[(1##n - 999) % (1000 * THREADS)];
static void straight(void)
{
    T3(STATEMENT, 0)
}
#define OPEN(n) if (x != 1##n) {
#define CLOSE(n) }
static int deep(int x)
{
    T3(OPEN, 0) return 1; T3(CLOSE, 0) return 2;
}
#define PLUS(n) + numbers[1##n - 1000]
int main(void)
{
    CHECK_EQ(0 T2(PLUS, ), 999 * 500);
    CHECK_EQ(choose(1234), 1234 - 1234 + 1);
    CHECK(deep(5) == 1 && deep(1042) == 2);
    for (int i = MYTHREAD; i < 1000; i += THREADS)
        CHECK_EQ(initialised[i], 1000 + i);
    if (MYTHREAD == 0)
        straight();
    upc_barrier;
    CHECK_EQ(a[0], a[1]);
    PASS();
}
