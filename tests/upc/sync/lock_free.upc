// Freeing locks: by any thread, locked or not, null; collectively; memory comes back.
// static: yes
#include "check.h"
upc_lock_t *shared locks[THREADS];
int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    upc_lock_free(NULL);
    upc_all_lock_free(NULL);
    locks[MYTHREAD] = upc_global_lock_alloc();
    upc_lock(locks[MYTHREAD]);
    upc_barrier;
    CHECK_EQ(upc_lock_attempt(locks[right]), 0);
    upc_barrier;
    upc_lock_free(locks[right]); /* held by another thread */
    upc_barrier;
    locks[MYTHREAD] = upc_global_lock_alloc();
    upc_barrier;
    upc_lock(locks[right]);
    upc_unlock(locks[right]);
    upc_barrier;
    upc_lock_free(locks[MYTHREAD]);
    CHECKED("upc_lock_free");
    for (int i = 0; i < 200; i++) {
        upc_lock_t *lock = upc_all_lock_alloc();
        upc_lock(lock);
        upc_unlock(lock);
        upc_all_lock_free(lock); /* the slowest may still hold it */
    }
    CHECKED("upc_all_lock_free");
    for (int i = 0; i < 3000; i++) {
        upc_lock_t *lock = upc_global_lock_alloc();
        CHECK_EQ(upc_lock_attempt(lock), 1);
        upc_lock_free(lock);
    }
    CHECKED("no-leak");
    PASS();
}
