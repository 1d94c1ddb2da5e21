// upc_atomic.h: counters, floats, a compare-and-swap list of pointers-to-shared.
// static: yes
#include "../check.h"
#include <upc_atomic.h>

struct item { shared struct item *next; int value; };
shared long total;
shared double sum;
shared int counters[THREADS];
shared [] struct item *shared head_dummy;
shared void *shared head;

int main(void)
{
    upc_atomicdomain_t *l = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET | UPC_INC, UPC_ATOMIC_HINT_DEFAULT);
    upc_atomicdomain_t *f = upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_ADD | UPC_SET | UPC_GET, 0);
    upc_atomicdomain_t *n = upc_all_atomicdomain_alloc(UPC_INT, UPC_ADD | UPC_XOR | UPC_CSWAP, UPC_ATOMIC_HINT_LATENCY);
    upc_atomicdomain_t *p = upc_all_atomicdomain_alloc(UPC_PTS, UPC_GET | UPC_SET | UPC_CSWAP, 0);
    long two = 2, seen;
    double half = 0.5;
    for (int i = 0; i < 500; i++) {
        upc_atomic_relaxed(l, NULL, UPC_ADD, &total, &two, NULL);
        upc_atomic_strict(l, &seen, UPC_INC, &total, NULL, NULL);
        CHECK(seen >= 3 * i && seen < 3 * 500 * THREADS);
        upc_atomic_relaxed(f, NULL, UPC_ADD, &sum, &half, NULL);
        int one = 1;
        upc_atomic_relaxed(n, NULL, UPC_ADD, &counters[i % THREADS], &one, NULL);
    }
    upc_barrier;
    upc_atomic_relaxed(l, &seen, UPC_GET, &total, NULL, NULL);
    CHECK_EQ(seen, 1500L * THREADS);
    CHECK(sum == 250.0 * THREADS);
    long all = 0;
    for (int t = 0; t < THREADS; t++)
        all += counters[t];
    CHECK_EQ(all, 500L * THREADS);

    /* A stack. */
    for (int i = 0; i < 100; i++) {
        shared struct item *mine = upc_alloc(sizeof(struct item));
        shared void *want, *got, *me = mine;
        mine->value = MYTHREAD;
        upc_atomic_relaxed(p, &want, UPC_GET, &head, NULL, NULL);
        for (;;) {
            mine->next = want;
            upc_atomic_strict(p, &got, UPC_CSWAP, &head, &want, &me);
            if (got == want)
                break;
            want = got;
        }
    }
    upc_barrier;
    if (MYTHREAD == 0) {
        int count = 0;
        long values = 0;
        for (shared struct item *at = head; at; at = at->next) {
            count++;
            values += at->value;
        }
        CHECK_EQ(count, 100 * THREADS);
        CHECK_EQ(values, 50L * THREADS * (THREADS - 1));
    }
    upc_all_atomicdomain_free(l);
    upc_all_atomicdomain_free(f);
    upc_all_atomicdomain_free(n);
    upc_all_atomicdomain_free(p);
    PASS();
    return 0;
}
