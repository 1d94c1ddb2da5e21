// Many small writes and operations go in few messages.
// threads: 2
// static: no
// flags: -fupc-aggregate
// env: GASNET_NEIGHBORHOOD=off
// env: GASNET_STATS=1
// expect-once: upc: thread 0 of 2: 20000 relaxed writes and atomic operations in
// expect-never: 20000 relaxed writes and atomic operations in 20000 messages
#include "../check.h"
#include <upc_atomic.h>
#include <upc_relaxed.h>

#define N 10000
shared [] long *words;
shared [N] long all[N * THREADS];

int main(void)
{
    upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_XOR, 0);
    words = (shared [] long *)&all[N];
    upc_barrier;
    if (MYTHREAD == 0)
        for (long i = 0; i < N; i++) {
            const long k = i * 7919 % N, mask = 5;
            words[k] = i;
            upc_atomic_relaxed(domain, NULL, UPC_XOR, &words[k], &mask, NULL);
        }
    upc_barrier;
    if (MYTHREAD == 1)
        for (long i = 0; i < N; i++)
            CHECK_EQ(words[i * 7919 % N], i ^ 5);
    PASS();
}
