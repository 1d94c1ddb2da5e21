// Locks: mutual exclusion, attempts, many locks, locks from each allocator.
// static: yes
#include "check.h"
#include <sched.h>

shared int counter, inside;
upc_lock_t *shared lock_of[THREADS];

int main(void)
{
    upc_lock_t *lock = upc_all_lock_alloc();
    CHECK(lock != NULL);
    static upc_lock_t *shared first;
    if (MYTHREAD == 0)
        first = lock;
    upc_barrier;
    CHECK(lock == first); /* all have the same */

    for (int i = 0; i < 300; i++) {
        upc_lock(lock);
        CHECK_EQ(inside, 0);
        inside = MYTHREAD + 1;
        counter++;
        CHECK_EQ(inside, MYTHREAD + 1);
        inside = 0;
        upc_unlock(lock);
    }
    upc_barrier;
    CHECK_EQ(counter, 300 * THREADS);
    upc_barrier;
    for (int done = 0; done < 100;) {
        if (upc_lock_attempt(lock)) {
            counter--;
            done++;
            upc_unlock(lock);
        } else {
            sched_yield();
        }
    }
    upc_barrier;
    CHECK_EQ(counter, 200 * THREADS);

    /* An attempt on a lock that somebody holds fails, whoever tries. */
    if (MYTHREAD == THREADS - 1)
        upc_lock(lock);
    upc_barrier;
    if (MYTHREAD != THREADS - 1)
        CHECK_EQ(upc_lock_attempt(lock), 0);
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        upc_unlock(lock);
    upc_barrier;

    /* One's own lock, used by all others too. */
    lock_of[MYTHREAD] = upc_global_lock_alloc();
    static shared int guarded[THREADS];
    upc_barrier;
    if (MYTHREAD > 0)
        CHECK(lock_of[MYTHREAD] != lock_of[MYTHREAD - 1]);
    for (int i = 0; i < 100; i++)
        for (int t = 0; t < THREADS; t++) {
            upc_lock(lock_of[t]);
            guarded[t]++;
            upc_unlock(lock_of[t]);
        }
    upc_barrier;
    CHECK_EQ(guarded[MYTHREAD], 100 * THREADS);
    upc_lock(lock_of[MYTHREAD]); /* freed while locked: allowed */
    upc_barrier;
    upc_lock_free(lock_of[(MYTHREAD + 1) % THREADS]);
    upc_all_lock_free(lock);
    upc_lock_free(NULL);
    upc_all_lock_free(NULL);
    upc_barrier;
    for (int i = 0; i < 1000; i++) {
        upc_lock_t *short_lived = upc_global_lock_alloc();
        upc_lock(short_lived);
        upc_unlock(short_lived);
        upc_lock_free(short_lived);
    }
    PASS();
}
