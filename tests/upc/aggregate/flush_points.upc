// With -fupc-aggregate, relaxed writes that wait for others are there after each synchronisation: the next thread has
// its neighbour's values as soon as it learns, by that synchronisation, that they were written.
// threads: 2 3
// flags: -fupc-aggregate
// env: GASNET_NEIGHBORHOOD=off
#include "../check.h"
#include <upc_atomic.h>
#include <upc_collective.h>
#include <bupc_collectivev.h>
#include <bupc_extensions.h>
#include <upc_relaxed.h>

#define N 5
#define ROUNDS 40

shared [N] long box[N * THREADS];
shared long counter[THREADS];
strict shared int flag[THREADS];
shared int relaxed_flag[THREADS];
shared [] int *source, *target;
upc_lock_t *lock;
upc_atomicdomain_t *domain;

static int right, left;

/* Relaxed writes to the next thread, and an atomic operation without a result. */
static void write_right(long value)
{
    for (int i = 0; i < N; i++)
        box[right * N + i] = value + i;
    upc_atomic_relaxed(domain, NULL, UPC_INC, &counter[right], NULL, NULL);
}

/* Read as the thread's own memory, with no help of the runtime. */
static void check_mine(long value, long count)
{
    const volatile long *const mine = (long *)&box[MYTHREAD * N];
    for (int i = 0; i < N; i++)
        CHECK_EQ(mine[i], value + i);
    CHECK_EQ(*(const volatile long *)(long *)&counter[MYTHREAD], count);
}

static void barriers(long value, long *count)
{
    write_right(value);
    upc_barrier;
    check_mine(value, ++*count);
    upc_barrier;
    write_right(value + 100);
    upc_notify;
    upc_wait;
    check_mine(value + 100, ++*count);
    upc_barrier;
    /* Between the two, and then a barrier. */
    upc_notify;
    write_right(value + 200);
    upc_wait;
    upc_barrier;
    check_mine(value + 200, ++*count);
    upc_barrier;
}

static void strict_write(long value, long *count)
{
    write_right(value);
    flag[right] = (int)value;
    while (flag[MYTHREAD] != (int)value)
        ;
    check_mine(value, ++*count);
    upc_barrier;
}

/* The flag is relaxed, and comes after a fence; the reader has one, too. */
static void fence(long value, long *count)
{
    write_right(value);
    upc_fence;
    relaxed_flag[right] = (int)value;
    upc_fence;
    while (*(volatile int *)(int *)&relaxed_flag[MYTHREAD] != (int)value)
        upc_fence;
    check_mine(value, ++*count);
    upc_barrier;
}

/* A strict read alone comes after the writes: the flag is set by an atomic operation that orders nothing. */
static void strict_read(long value, long *count)
{
    write_right(value);
    CHECK(flag[left] >= 0);
    int mine = (int)value;
    bupc_atomicI_swap_relaxed(&relaxed_flag[right], mine);
    while (*(volatile int *)(int *)&relaxed_flag[MYTHREAD] != mine)
        bupc_poll();
    check_mine(value, ++*count);
    upc_barrier;
}

/* Thread 0 writes under the lock, each other thread finds the value when it has the lock. */
static void locks(long value, long *count)
{
    static shared int turn;
    int seen = 0;
    if (MYTHREAD == 0) {
        upc_lock(lock);
        write_right(value);
        turn = 1;
        upc_unlock(lock);
        /* No call of the runtime that would send what the unlock has not. */
        for (volatile int i = 0; i < 1000000; i++)
            ;
    } else {
        while (!seen) {
            upc_lock(lock);
            seen = turn;
            if (seen && MYTHREAD == 1)
                check_mine(value, ++*count);
            upc_unlock(lock);
        }
    }
    upc_barrier;
    turn = 0;
    upc_barrier;
}

static void semaphores(long value, long *count)
{
    static bupc_sem_t *shared sems[THREADS];
    sems[MYTHREAD] = bupc_sem_alloc(BUPC_SEM_INTEGER);
    upc_barrier;
    write_right(value);
    bupc_sem_post(sems[right]);
    bupc_sem_wait(sems[MYTHREAD]);
    check_mine(value, ++*count);
    upc_barrier;
    write_right(value + 100);
    bupc_memput_signal(&relaxed_flag[right], &right, sizeof right, sems[right], 1);
    bupc_sem_wait(sems[MYTHREAD]);
    check_mine(value + 100, ++*count);
    upc_barrier;
    bupc_sem_free(sems[MYTHREAD]);
    upc_barrier;
}

/* An operation of the library whose old value is wanted, and a strict one. */
static void atomics(long value, long *count)
{
    for (int kind = 0; kind < 2; kind++) {
        write_right(value + kind);
        long old, one = 1000000;
        if (kind)
            upc_atomic_strict(domain, NULL, UPC_ADD, &counter[right], &one, NULL);
        else
            upc_atomic_relaxed(domain, &old, UPC_ADD, &counter[right], &one, NULL);
        while (*(volatile long *)(long *)&counter[MYTHREAD] < one)
            bupc_poll();
        check_mine(value + kind, ++*count + one);
        upc_barrier;
        counter[MYTHREAD] -= one;
        upc_barrier;
    }
}

static void collectives(long value, long *count)
{
    write_right(value);
    upc_all_broadcast(target, source, sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    check_mine(value, ++*count);
    upc_barrier;
    /* Each thread gets here when all have entered. */
    write_right(value + 100);
    bupc_allv_reduce_all(int, 1, UPC_ADD);
    check_mine(value + 100, ++*count);
    upc_barrier;
    /* Those with a root: who hears from a thread, or the root that hears from all, has what was written before. */
    int values[THREADS];
    for (int root = 0; root < THREADS; root++)
        for (int kind = 0; kind < 3; kind++) {
            const long wrote = value + 200 + 10 * root + kind;
            const int writer = kind == 2 ? (root + THREADS - 1) % THREADS : root;
            if (MYTHREAD == writer)
                write_right(wrote);
            for (int i = 0; i < THREADS; i++)
                values[i] = i;
            if (kind == 0)
                bupc_allv_broadcast(int, MYTHREAD, root);
            else if (kind == 1)
                bupc_allv_scatter(int, root, values);
            else
                bupc_allv_gather(int, MYTHREAD, root, values);
            if (left == writer)
                check_mine(wrote, ++*count);
            upc_barrier;
        }
}

/* A call of a transfer waits for nothing but what touches the same bytes. */
static void transfers(long value, long *count)
{
    write_right(value);
    long got[N];
    upc_memget(got, &box[right * N], sizeof got);
    for (int i = 0; i < N; i++)
        CHECK_EQ(got[i], value + i);
    for (int i = 0; i < N; i++)
        got[i] = value + 50 + i;
    upc_memput(&box[right * N], got, sizeof got);
    for (int i = 0; i < N; i++)
        CHECK_EQ(box[right * N + i], value + 50 + i);
    upc_barrier;
    check_mine(value + 50, ++*count);
    upc_barrier;
    /* Small ones that continue after their call travel with others. */
    bupc_handle_t handle = bupc_memput_async(&box[right * N], got, 8);
    got[0] = -1;
    bupc_memput_asynci(&box[right * N + 1], got + 1, 8 * (N - 1));
    bupc_waitsync(handle);
    bupc_waitsynci();
    upc_atomic_relaxed(domain, NULL, UPC_INC, &counter[right], NULL, NULL);
    upc_barrier;
    check_mine(value + 50, ++*count);
    upc_barrier;
}

int main(void)
{
    right = (MYTHREAD + 1) % THREADS;
    left = (MYTHREAD + THREADS - 1) % THREADS;
    lock = upc_all_lock_alloc();
    domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_INC | UPC_ADD, 0);
    source = (shared [] int *)upc_all_alloc(1, sizeof(int));
    target = (shared [] int *)upc_all_alloc(THREADS, sizeof(int));
    long count = 0, one[2] = {0, 0};
    for (int round = 1; round <= ROUNDS; round++) {
        const long value = 10000L * round;
        barriers(value, &count);
        strict_write(value + 1000, &count);
        fence(value + 2000, &count);
        strict_read(value + 3000, &count);
        semaphores(value + 4000, &count);
        atomics(value + 5000, &count);
        collectives(value + 6000, &count);
        transfers(value + 7000, &count);
    }
    CHECKED("flush-points");
    /* Only thread 1 is written to. */
    counter[MYTHREAD] = 0;
    upc_barrier;
    for (int round = 1; round <= ROUNDS; round++)
        locks(10000L * round, one);
    CHECKED("locks");
    PASS();
}
