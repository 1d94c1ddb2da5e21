// Comparing and subtracting.
// static: yes
#include "check.h"
shared [4] int a[8 * THREADS];
struct s {
    char c[3];
};
shared [2] struct s rec[4 * THREADS];
int main(void)
{
    /* The phase does not count: two ways to one place. */
    shared [4] int *p = &a[2], *q = (shared [4] int *)(shared [] int *)&a[2];
    CHECK_EQ(upc_phaseof(p), 2);
    CHECK_EQ(upc_phaseof(q), 0);
    CHECK(p == q && !(p != q));
    CHECK((shared void *)p == q);
    q = (shared [4] int *)upc_resetphase(p);
    CHECK(p == q);
    CHECKED("phase-ignored");
    CHECK_EQ(_Generic(p - a, ptrdiff_t: 1, default: 0), 1);
    CHECK_EQ(_Generic(p == q, int: 1, default: 0), 1);
    CHECK_EQ(_Generic(p < q, int: 1, default: 0), 1);
    CHECKED("difference-type");
    for (int i = 0; i < 4 * THREADS; i++)
        for (int j = 0; j < 4 * THREADS; j++) {
            CHECK_EQ(&rec[i] - &rec[j], i - j);
            CHECK_EQ(&rec[i] < &rec[j], i < j);
        }
    CHECKED("odd-sizes");
    PASS();
}
