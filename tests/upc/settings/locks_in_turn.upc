// UPC_LOCKS_RR=yes puts the locks that one thread makes on all threads.
// env: UPC_LOCKS_RR=yes
#include "check.h"

shared int sum, other;
upc_lock_t *shared all[THREADS];

int main(void)
{
    int seen[THREADS], i;
    upc_lock_t *mine[2 * THREADS], *both = upc_all_lock_alloc();
    for (i = 0; i < THREADS; i++)
        seen[i] = 0;
    for (i = 0; i < 2 * THREADS; i++) {
        mine[i] = upc_global_lock_alloc();
        seen[upc_threadof((shared void *)mine[i])]++;
    }
    for (i = 0; i < THREADS; i++)
        CHECK_EQ(seen[i], 2);
    all[MYTHREAD] = mine[0];
    upc_barrier;
    for (i = 0; i < 50; i++) {
        upc_lock(all[0]);
        sum++;
        upc_unlock(all[0]);
        upc_lock(both);
        other++;
        upc_unlock(both);
    }
    upc_barrier;
    CHECK_EQ(sum, 50 * THREADS);
    CHECK_EQ(other, 50 * THREADS);
    CHECK(upc_lock_attempt(mine[1]));
    upc_unlock(mine[1]);
    upc_barrier;
    for (i = 0; i < 2 * THREADS; i++)
        upc_lock_free(mine[i]);
    upc_all_lock_free(both);
    PASS();
}
