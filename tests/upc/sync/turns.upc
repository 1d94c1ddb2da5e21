// Two threads take turns on the blocks of each thread, by every means that orders accesses, in loops that the optimiser likes. Who
// waits repeats calls that may touch nothing but its own memory, and serves the other all the same.
// threads: 2 3
#include <upc_relaxed.h>
#include <upc_atomic.h>
#include <sched.h>
#include "check.h"

enum { N = 96, TURNS = 8 };
struct record {
    long a, b;
    char pad[40];
    long c;
};
shared [N] long data[N * THREADS];
shared [4] struct record records[4 * THREADS];
shared long scalars[THREADS];
strict shared int strict_turn;
shared int turn;
static upc_lock_t *lock;
static upc_atomicdomain_t *domain;
bupc_sem_t *shared semaphores[THREADS];
static void strict_wait(int k)
{
    while (strict_turn != k)
        sched_yield();
}
static void strict_set(int k) { strict_turn = k; }
static void (*volatile wait_for)(int) = strict_wait;
static void (*volatile announce)(int) = strict_set;

/* Thread 0 writes to all of a thread's block, tells, waits, and finds what thread 1 has made of it. */
#define TAKE_TURNS(name, WAIT, TELL)                                                               \
    static void name(int owner)                                                                    \
    {                                                                                              \
        shared [N] long *a = &data[N * owner];                                                     \
        shared [4] struct record *r = &records[4 * owner];                                         \
        upc_barrier;                                                                               \
        if (MYTHREAD == 0)                                                                         \
            strict_turn = turn = 0;                                                                \
        upc_barrier;                                                                               \
        long before = 0;                                                                           \
        for (int k = 1; MYTHREAD < 2 && k <= TURNS; k++) {                                         \
            if (MYTHREAD == 0) {                                                                   \
                for (int i = 0; i < N; i++)                                                        \
                    a[i] = k * 1000 + i;                                                           \
                for (int i = 0; i < 4; i++)                                                        \
                    r[i].a = r[i].c = k + i;                                                       \
                scalars[owner] = k;                                                                \
                TELL(2 * k - 1);                                                                   \
                WAIT(2 * k);                                                                       \
                long sum = 0;                                                                      \
                for (int i = 0; i < N; i++)                                                        \
                    sum += a[i];                                                                   \
                CHECK_EQ(sum, -(long)k * N);                                                       \
            } else {                                                                               \
                for (int i = 0; i < N; i++) /* not to be kept */                                   \
                    before += a[i] + r[i % 4].a + scalars[owner];                                  \
                WAIT(2 * k - 1);                                                                   \
                long sum = scalars[owner] - k;                                                     \
                for (int i = 0; i < N; i++)                                                        \
                    sum += a[i] - (k * 1000 + i);                                                  \
                for (int i = 0; i < 4; i++)                                                        \
                    sum += r[i].a + r[i].c - 2 * (k + i);                                          \
                CHECK_EQ(sum, 0);                                                                  \
                for (int i = 0; i < N; i++)                                                        \
                    a[i] = -k;                                                                     \
                TELL(2 * k);                                                                       \
            }                                                                                      \
        }                                                                                          \
        CHECK(before != 1);                                                                        \
        upc_barrier;                                                                               \
    }

#define STRICT_WAIT(k) strict_wait(k)
#define STRICT_TELL(k) (strict_turn = (k))
TAKE_TURNS(by_strict, STRICT_WAIT, STRICT_TELL)
#define CALL_WAIT(k) wait_for(k)
#define CALL_TELL(k) announce(k)
TAKE_TURNS(by_call, CALL_WAIT, CALL_TELL)
#define FENCE_WAIT(k)                                                                              \
    while (turn != (k)) {                                                                          \
        upc_fence;                                                                                 \
        sched_yield();                                                                             \
    }                                                                                              \
    upc_fence
#define FENCE_TELL(k)                                                                              \
    upc_fence;                                                                                     \
    turn = (k);                                                                                    \
    upc_fence
TAKE_TURNS(by_fence, FENCE_WAIT, FENCE_TELL)
static int look(int attempt)
{
    if (!attempt)
        upc_lock(lock);
    else if (!upc_lock_attempt(lock))
        return 0;
    const int seen = turn;
    upc_unlock(lock);
    return seen;
}
#define LOCK_WAIT(k)                                                                               \
    while (look(0) != (k))                                                                         \
    sched_yield()
#define ATTEMPT_WAIT(k)                                                                            \
    while (look(1) != (k))                                                                         \
    sched_yield()
#define LOCK_TELL(k)                                                                               \
    upc_lock(lock);                                                                                \
    turn = (k);                                                                                    \
    upc_unlock(lock)
TAKE_TURNS(by_lock, LOCK_WAIT, LOCK_TELL)
TAKE_TURNS(by_attempt, ATTEMPT_WAIT, LOCK_TELL)
static int atomic_get(void)
{
    int seen;
    upc_atomic_strict(domain, &seen, UPC_GET, &turn, NULL, NULL);
    return seen;
}
#define ATOMIC_WAIT(k)                                                                             \
    while (atomic_get() != (k))                                                                    \
    sched_yield()
#define ATOMIC_TELL(k)                                                                             \
    const int now = (k);                                                                           \
    upc_atomic_strict(domain, NULL, UPC_SET, &turn, &now, NULL)
TAKE_TURNS(by_atomic, ATOMIC_WAIT, ATOMIC_TELL)
#define BUPC_WAIT(k)                                                                               \
    while (bupc_atomicI_read_strict(&turn) != (k))                                                 \
    sched_yield()
#define BUPC_TELL(k) bupc_atomicI_set_strict(&turn, k)
TAKE_TURNS(by_bupc_atomic, BUPC_WAIT, BUPC_TELL)
#define SEM_WAIT(k) bupc_sem_wait(semaphores[MYTHREAD])
#define TRY_WAIT(k)                                                                                \
    while (!bupc_sem_try(semaphores[MYTHREAD]))                                                    \
    sched_yield()
#define SEM_TELL(k) bupc_sem_post(semaphores[1 - MYTHREAD])
TAKE_TURNS(by_sem, SEM_WAIT, SEM_TELL)
TAKE_TURNS(by_sem_try, TRY_WAIT, SEM_TELL)
#define CAST_WAIT(k)                                                                               \
    while (*(strict shared int *)&turn != (k))                                                     \
    sched_yield()
#define CAST_TELL(k) (*(strict shared int *)&turn = (k))
TAKE_TURNS(by_cast, CAST_WAIT, CAST_TELL)

int main(void)
{
    lock = upc_all_lock_alloc();
    domain = upc_all_atomicdomain_alloc(UPC_INT, UPC_GET | UPC_SET, 0);
    semaphores[MYTHREAD] = bupc_sem_alloc(0);
    upc_barrier;
    for (int owner = 0; owner < THREADS; owner++) {
        by_strict(owner);
        by_call(owner);
        by_fence(owner);
        by_cast(owner);
    }
    CHECKED("strict");
    for (int owner = 0; owner < THREADS; owner++) {
        by_lock(owner);
        by_attempt(owner);
    }
    CHECKED("locks");
    for (int owner = 0; owner < THREADS; owner++) {
        by_atomic(owner);
        by_bupc_atomic(owner);
    }
    CHECKED("atomics");
    for (int owner = 0; owner < THREADS; owner++) {
        by_sem(owner);
        by_sem_try(owner);
    }
    CHECKED("semaphores");
    PASS();
}
