// stdatomic.h and _Atomic.
// threads: 1 2
#include "check.h"
#include <stdatomic.h>
static atomic_int counter = ATOMIC_VAR_INIT(3);
static _Atomic(long) big = 5;
static _Atomic double real;
struct pair {
    int a, b;
};
static _Atomic struct pair both;
static int *_Atomic pointer;
static const _Atomic int constant = 8;
shared [] int place[4];
int main(void)
{
    atomic_init(&counter, 4);
    CHECK_EQ(atomic_fetch_add(&counter, 2), 4);
    CHECK_EQ(counter++, 6);
    counter += 3;
    CHECK_EQ(atomic_load_explicit(&counter, memory_order_acquire), 10);
    int expected = 10;
    CHECK(atomic_compare_exchange_strong(&counter, &expected, 20) && !atomic_compare_exchange_weak(&counter, &expected, 30));
    CHECK_EQ(expected, 20);
    big ^= 7;
    CHECK_EQ(atomic_exchange(&big, 1), 2);
    real = 1.5;
    CHECK(real == 1.5);
    both = (struct pair){1, 2};
    struct pair copy = both;
    CHECK_EQ(copy.b, 2);
    int x = 1;
    pointer = &x;
    CHECK_EQ(*pointer + constant, 9);
    atomic_flag flag = ATOMIC_FLAG_INIT;
    CHECK(!atomic_flag_test_and_set(&flag) && atomic_flag_test_and_set(&flag));
    atomic_thread_fence(memory_order_seq_cst);
    CHECK(atomic_is_lock_free(&counter) && ATOMIC_INT_LOCK_FREE == 2);
    CHECK_EQ(_Generic(counter + 0, int: 1, default: 0), 1);
    upc_barrier;
    /* On shared data that this thread owns. */
    if (MYTHREAD == 0)
        __atomic_fetch_add((int *)&place[1], 5, __ATOMIC_SEQ_CST);
    upc_barrier;
    CHECK_EQ(place[1], 5);
    CHECK_EQ(__sync_fetch_and_add(&x, 2) + x, 4);
    PASS();
}
