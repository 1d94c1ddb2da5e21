// Threads that wait in loops of their own, under a lock or on an atomic that is their own: others get through to them.
// static: yes
#include "check.h"
#include <upc_atomic.h>

relaxed shared int told[THREADS];
shared long counted[THREADS];
strict shared int said[THREADS];

int main(void)
{
    upc_lock_t *lock = upc_all_lock_alloc();
    upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_GET | UPC_INC, 0);
    for (int waiter = 0; waiter < THREADS; waiter++) {
        if (MYTHREAD == (waiter + 1) % THREADS) {
            upc_lock(lock);
            told[waiter] = 1;
            upc_unlock(lock);
            upc_atomic_relaxed(domain, NULL, UPC_INC, &counted[waiter], NULL, NULL);
            said[waiter] = 1;
        }
        if (MYTHREAD == waiter) {
            for (int seen = 0; !seen;) {
                upc_lock(lock);
                seen = told[waiter];
                upc_unlock(lock);
            }
            for (long seen = 0; !seen;)
                upc_atomic_relaxed(domain, &seen, UPC_GET, &counted[waiter], NULL, NULL);
            while (!said[waiter])
                ;
        }
        upc_barrier;
    }
    upc_all_atomicdomain_free(domain);
    upc_all_lock_free(lock);
    PASS();
}
