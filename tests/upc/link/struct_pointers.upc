// -fupc-pts=struct: blocks and objects beyond what packed pointers hold.
// flags: -fupc-pts=struct
// static: yes
// threads: 1 2 4
#include "check.h"
enum { BIG = 1 << 21 };
shared [BIG] char a[2 * BIG * THREADS];
shared [3] int b[9 * THREADS];
struct s {
    shared [BIG] char *p;
    int x;
};
shared struct s s[THREADS];
shared [BIG] char *start = &a[5];
int main(void)
{
    CHECK(UPC_MAX_BLOCK_SIZE >= BIG);
    shared [BIG] char *p = &a[BIG + 7];
    CHECK_EQ(upc_threadof(p), 1 % THREADS);
    CHECK_EQ(upc_phaseof(p), 7);
    CHECK(start == &a[5] && upc_phaseof(start) == 5);
    p -= BIG;
    CHECK_EQ(upc_phaseof(p), 7);
    CHECK_EQ(p - a, 7);
    s[MYTHREAD].p = p;
    upc_forall (int i = 0; i < 9 * THREADS; i++; &b[i])
        b[i] = i;
    upc_barrier;
    for (int i = 0; i < 9 * THREADS; i++) {
        CHECK_EQ(b[i], i);
        CHECK_EQ(upc_threadof(&b[i]), i / 3 % THREADS);
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(s[t].p == &a[7]);
    shared [BIG] char *q = s[0].p;
    CHECK(q == p && !(q != p) && q < p + 1 && q);
    PASS();
}
