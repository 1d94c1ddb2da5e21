// upc_atomic_strict is a strict access: what was written before is there, what is read after is new. As the only strict accesses.
// threads: 2 3 4
#include <upc_relaxed.h>
#include <upc_atomic.h>
#include <sched.h>
#include "check.h"
enum { N = 64 };
shared [N] int data[N * THREADS];
shared int flag[THREADS], seen[THREADS];

int main(void)
{
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_INT, UPC_GET | UPC_SET | UPC_ADD, 0);
    const int right = (MYTHREAD + 1) % THREADS, left = (MYTHREAD + THREADS - 1) % THREADS;
    shared [N] int *there = &data[N * right], *here = &data[N * MYTHREAD];
    /* Messages: data of the neighbour, then its flag. */
    for (int round = 1; round <= 200; round++) {
        for (int i = 0; i < N; i++)
            there[i] = round * 1000 + MYTHREAD * 100 + i;
        upc_atomic_strict(d, NULL, UPC_SET, &flag[right], &round, NULL);
        int got, sum = 0, before = 0;
        for (int i = 0; i < N; i++)
            before += here[i]; /* not to be kept for the reads after */
        do {
            sched_yield();
            upc_atomic_strict(d, &got, UPC_GET, &flag[MYTHREAD], NULL, NULL);
        } while (got != round);
        for (int i = 0; i < N; i++)
            sum += here[i] - (round * 1000 + left * 100 + i);
        CHECK_EQ(sum, 0);
        CHECK(before != 1);
        upc_barrier;
    }
    CHECKED("messages");
    /* Each writes one and reads the other: not both read what was before. */
    for (int round = 1; round <= 300; round++) {
        upc_barrier;
        if (MYTHREAD < 2) {
            int got;
            upc_atomic_strict(d, NULL, UPC_SET, &flag[MYTHREAD], &round, NULL);
            upc_atomic_strict(d, &got, UPC_GET, &flag[1 - MYTHREAD], NULL, NULL);
            seen[MYTHREAD] = got;
        }
        upc_barrier;
        CHECK(seen[0] == round || seen[1] == round);
    }
    CHECKED("one-order");
    upc_all_atomicdomain_free(d);
    PASS();
}
