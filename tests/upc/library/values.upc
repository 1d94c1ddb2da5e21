// bupc_collectivev.h: collective functions on private values; pupc.h is there.
// static: yes
#include "../check.h"
#include <bupc_collectivev.h>
#include <pupc.h>

int main(void)
{
    int me = MYTHREAD, root = THREADS / 2, all[THREADS], pick[THREADS];
    double d = me + 0.5, ds[THREADS];
    short s = (short)-me;
    unsigned char u = (unsigned char)(250 + me);
    CHECK_EQ(bupc_allv_broadcast(int, me, root), root);
    CHECK(bupc_allv_broadcast(double, d, 0) == 0.5);
    bupc_allv_gather_all(int, me, all);
    for (int t = 0; t < THREADS; t++) {
        CHECK_EQ(all[t], t);
        pick[t] = 7 * t + 1;
    }
    bupc_allv_gather(double, d, root, ds);
    if (MYTHREAD == root)
        for (int t = 0; t < THREADS; t++)
            CHECK(ds[t] == t + 0.5);
    CHECK_EQ(bupc_allv_scatter(int, root, pick), 7 * me + 1);
    CHECK_EQ(bupc_allv_permute(int, me, (me + 1) % THREADS), (me + THREADS - 1) % THREADS);
    CHECK_EQ(bupc_allv_reduce_all(int, me, UPC_ADD), THREADS * (THREADS - 1) / 2);
    CHECK_EQ(bupc_allv_reduce_all(short, s, UPC_MIN), 1 - THREADS);
    CHECK_EQ(bupc_allv_reduce_all(unsigned char, u, UPC_MIN), THREADS > 6 ? 0 : 250);
    CHECK(bupc_allv_prefix_reduce(double, d, UPC_ADD) == me * (me + 1) / 2 + 0.5 * (me + 1));
    double total = bupc_allv_reduce(double, d, root, UPC_MAX);
    CHECK(MYTHREAD != root || total == THREADS - 0.5);
    pupc_control(0);
    unsigned tag = pupc_create_event("event", "of no interest");
    pupc_event_start(tag);
    pupc_event_end(tag, 1, "two");
    pupc_event_atomic(tag);
    PASS();
    return 0;
}
