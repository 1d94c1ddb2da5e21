// The libraries that a predefined macro says are there are known without their headers, which may follow.
// threads: 1 2
#include "check.h"
#if __UPC_ATOMIC__
extern upc_atomicdomain_t *domain;
#include <upc_atomic.h>
upc_atomicdomain_t *domain;
#endif

shared long word;
shared int from[THREADS];
shared int to[THREADS];

#if __UPC_TICK__
static upc_tick_t since(upc_tick_t start)
{
    return upc_ticks_now() - start;
}
#endif

int main(void)
{
#if __UPC_TICK__
    upc_tick_t start = upc_ticks_now();
    CHECK(upc_ticks_to_ns(since(start)) < UINT64_MAX / 2);
#endif
#if __UPC_ATOMIC__
    long one = 1, old;
    domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET, UPC_ATOMIC_HINT_LATENCY);
    upc_atomic_strict(domain, &old, UPC_ADD, &word, &one, 0);
    upc_barrier;
    CHECK_EQ(word, THREADS);
    upc_all_atomicdomain_free(domain);
#endif
#if __UPC_COLLECTIVE__
    from[MYTHREAD] = MYTHREAD + 1;
    upc_all_broadcast(to, from, sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK_EQ(to[MYTHREAD], 1);
    upc_all_reduceI(to, from, UPC_ADD, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK_EQ(to[0], THREADS * (THREADS + 1) / 2);
#endif
#if __UPC_CASTABLE__
    upc_thread_info_t info = upc_thread_info(MYTHREAD);
    CHECK(info.guaranteedCastable & UPC_CASTABLE_ALL_ALLOC);
    CHECK(upc_cast(&from[MYTHREAD]) == (int *)&from[MYTHREAD]);
#endif
#if __UPC_NB__
    int got = 0;
    upc_handle_t handle = upc_memget_nb(&got, &from[MYTHREAD], sizeof got);
    upc_sync(handle);
    CHECK_EQ(got, MYTHREAD + 1);
#endif
#if __UPC_IO__
    upc_file_t *file = NULL;
    CHECK(file == NULL && UPC_RDONLY != UPC_WRONLY);
#endif
    PASS();
}
