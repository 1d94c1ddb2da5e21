// Pointers to library functions.
// threads: 1 3
#include "../check.h"
#include <upc_atomic.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_tick.h>
typedef void any(void);
#define ANY(f) ((any *)&f)
static any *const all[] = {
    ANY(upc_global_exit), ANY(upc_global_alloc), ANY(upc_all_alloc), ANY(upc_alloc), ANY(upc_free), ANY(upc_all_free),
    ANY(upc_threadof), ANY(upc_phaseof), ANY(upc_resetphase), ANY(upc_addrfield), ANY(upc_affinitysize),
    ANY(upc_global_lock_alloc), ANY(upc_all_lock_alloc), ANY(upc_lock_free), ANY(upc_all_lock_free), ANY(upc_lock),
    ANY(upc_lock_attempt), ANY(upc_unlock), ANY(upc_memcpy), ANY(upc_memget), ANY(upc_memput), ANY(upc_memset),
    ANY(upc_all_broadcast), ANY(upc_all_scatter), ANY(upc_all_gather), ANY(upc_all_gather_all), ANY(upc_all_exchange),
    ANY(upc_all_permute), ANY(upc_all_reduceI), ANY(upc_all_prefix_reduceLD), ANY(upc_ticks_now), ANY(upc_ticks_to_ns),
    ANY(upc_all_atomicdomain_alloc), ANY(upc_atomic_relaxed), ANY(upc_atomic_strict), ANY(upc_cast), ANY(upc_thread_info),
    ANY(upc_memcpy_nb), ANY(upc_memget_nbi), ANY(upc_sync), ANY(upc_synci_attempt),
};
shared [8] char c[8 * THREADS];
static void apply(void (*f)(shared void *), shared void *p) { f(p); }
static void put(void (*f)(shared void *, const void *, size_t), int t) { f(&c[8 * t], "pointer", 8); }
int main(void)
{
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(all[i] != NULL);
    shared void *(*allocate)(size_t) = upc_alloc;
    shared void *p = allocate(100);
    size_t (*where)(shared void *) = &upc_threadof;
    CHECK_EQ(where(p), MYTHREAD);
    apply(upc_free, p);
    apply(&upc_free, upc_alloc(10));
    put(upc_memput, MYTHREAD);
    CHECK_EQ(c[8 * MYTHREAD + 6], 'r');
    CHECK_EQ((upc_affinitysize)(10, 2, 0), upc_affinitysize(10, 2, 0));
    upc_lock_t *lock = (upc_all_lock_alloc)();
    void (*take)(upc_lock_t *) = upc_lock;
    take(lock);
    (*upc_unlock)(lock);
    upc_all_lock_free(lock);
    PASS();
}
