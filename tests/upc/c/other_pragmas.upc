// Pragmas that are not UPC's stay where they are.
// threads: 1 2
#include "check.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused"
#pragma pack(push, 1)
struct packed {
    char c;
    int i;
};
#pragma pack(pop)
struct padded {
    char c;
    int i;
};
#pragma bupc noopt
#pragma unknown to everybody
shared struct packed p[THREADS];
#pragma weak absent
extern int absent(void);
static int sum(const int *a, int n)
{
    int s = 0;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        s += a[i];
#pragma bupc ivdep
    upc_forall (int i = 0; i < THREADS; i++; i)
        p[i].i = s;
    return s;
}
#pragma redefine_extname old_name new_name
#pragma STDC FP_CONTRACT OFF
#pragma GCC poison never_used
int main(void)
{
    _Pragma("GCC diagnostic pop")
    CHECK_EQ(sizeof(struct packed), 5);
    CHECK_EQ(sizeof(struct padded), 8);
    CHECK_EQ(sum((int[]){1, 2, 3, 4, 5}, 5), 15);
    CHECK(!absent);
    upc_barrier;
    CHECK_EQ(p[THREADS - 1].i, 15);
    PASS();
}
