// A thread's accesses to one location keep their order, whoever owns it and whatever they go through.
// static: yes
#include "check.h"
shared [2] int a[4 * THREADS];
shared double d[THREADS];
struct s {
    char bytes[40];
    int n;
};
shared struct s big[THREADS];
static int sum;
__attribute__((noinline)) static void unknown(shared [2] int *p) { sum += *p; }
int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    shared [2] int *p = &a[2 * right], *q = (shared [2] int *)(shared [] int *)p;
    for (int i = 0; i < 100; i++) {
        *p = i;
        CHECK_EQ(*q, i);
        *q += 1;
        CHECK_EQ(*p, i + 1);
        upc_memput(p, &i, sizeof i);
        CHECK_EQ(*q, i);
        *p = 3 * i;
        int got;
        upc_memget(&got, q, sizeof got);
        CHECK_EQ(got, 3 * i);
        sum = 0;
        *p = i;
        unknown(q);
        *p = i + 7;
        CHECK_EQ(sum, i);
        d[right] = i;
        d[right] *= 2;
        CHECK(d[right] == 2 * i);
    }
    CHECKED("remote");
    int *local = (int *)&a[2 * MYTHREAD + 1];
    shared [2] int *mine = &a[2 * MYTHREAD + 1];
    for (int i = 0; i < 100; i++) {
        *mine = i;
        CHECK_EQ(*local, i);
        *local = -i;
        CHECK_EQ(*mine, -i);
    }
    CHECKED("private-alias");
    struct s whole = {.n = 1};
    for (int i = 0; i < 50; i++) {
        whole.n = i;
        big[right] = whole;
        CHECK_EQ(big[right].n, i);
        big[right].n = i + 1;
        whole = big[right];
        CHECK_EQ(whole.n, i + 1);
    }
    CHECKED("aggregates");
    PASS();
}
