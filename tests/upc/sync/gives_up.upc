// Threads that wait in loops of their own give up the processor: whoever ends such a wait does so only once the waiter has yielded or slept.
// threads: 2 3
#define _GNU_SOURCE 1
#include <upc_relaxed.h>
#include <upc_atomic.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include "check.h"

/* Times that a thread gave up its processor, in memory of the processes themselves: no call of the runtime is needed to look. */
static _Atomic long *given_up;
static int waiting;
static void count(void)
{
    if (waiting)
        atomic_fetch_add(&given_up[MYTHREAD], 1);
}
/* The runtime's own calls come here. */
int sched_yield(void)
{
    count();
    return (int)syscall(SYS_sched_yield);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    count();
    return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
}
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask)
{
    if (!time || time->tv_sec || time->tv_nsec)
        count();
    struct timespec left = time ? *time : (struct timespec){0, 0};
    return (int)syscall(SYS_ppoll, fds, n, time ? &left : NULL, mask, 8);
}

strict shared int flag;
shared int relaxed_flag;
shared long word;
shared int plain;
static upc_lock_t *lock;
static upc_atomicdomain_t *domain;
bupc_sem_t *shared semaphore;

/* Thread 0 waits; thread 1 ends that once thread 0 has given up the processor a few times. */
#define WAITS(name, WAIT, TELL)                                                                    \
    static void name(void)                                                                         \
    {                                                                                              \
        const struct timespec while_ = {0, 1000000};                                               \
        upc_barrier;                                                                               \
        const long before = atomic_load(&given_up[0]);                                             \
        upc_barrier;                                                                               \
        if (MYTHREAD == 0) {                                                                       \
            waiting = 1;                                                                           \
            WAIT;                                                                                  \
            waiting = 0;                                                                           \
        }                                                                                          \
        if (MYTHREAD == 1) {                                                                       \
            while (atomic_load(&given_up[0]) < before + 3)                                         \
                nanosleep(&while_, NULL);                                                          \
            TELL;                                                                                  \
        }                                                                                          \
        upc_barrier;                                                                               \
    }
static int atomic_get(void)
{
    long seen;
    upc_atomic_relaxed(domain, &seen, UPC_GET, &word, NULL, NULL);
    return (int)seen;
}
static void atomic_set(long to) { upc_atomic_relaxed(domain, NULL, UPC_SET, &word, &to, NULL); }
WAITS(by_strict, while (flag == 0), flag = 1)
WAITS(by_cast, while (*(strict shared int *)&relaxed_flag == 0), *(strict shared int *)&relaxed_flag = 1)
WAITS(by_fence, while (relaxed_flag != 2) upc_fence, relaxed_flag = 2; upc_fence)
WAITS(by_poll, while (relaxed_flag != 3) bupc_poll(), relaxed_flag = 3; upc_fence)
WAITS(by_atomic, while (!atomic_get()), atomic_set(1))
WAITS(by_plain_atomic, while (!bupc_atomicI_read_relaxed(&plain)), bupc_atomicI_set_relaxed(&plain, 1))
WAITS(by_swap, while (bupc_atomicI_cswap_relaxed(&plain, 2, 3) != 2), bupc_atomicI_set_relaxed(&plain, 2))
WAITS(by_attempt, while (!upc_lock_attempt(lock)), upc_unlock(lock))
WAITS(by_try, while (!bupc_sem_try(semaphore)), bupc_sem_post(semaphore))

int main(void)
{
    const char *scratch = getenv("SCRATCH");
    char name[400];
    snprintf(name, sizeof name, "%s/given-up-%d", scratch ? scratch : "/tmp", THREADS);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    given_up = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(given_up != MAP_FAILED);
    upc_barrier;
    unlink(name);
    lock = upc_all_lock_alloc();
    domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_GET | UPC_SET, 0);
    if (MYTHREAD == 0)
        semaphore = bupc_sem_alloc(0);
    if (MYTHREAD == 1)
        upc_lock(lock);
    upc_barrier;
    by_strict();
    by_cast();
    CHECKED("strict");
    by_fence();
    by_poll();
    CHECKED("fences");
    by_atomic();
    by_plain_atomic();
    by_swap();
    CHECKED("atomics");
    by_attempt();
    if (MYTHREAD == 0)
        upc_unlock(lock);
    CHECKED("locks");
    by_try();
    CHECKED("semaphores");
    PASS();
}
