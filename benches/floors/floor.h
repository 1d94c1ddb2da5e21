/* What the floors share: processes that share memory, binding to processors, the clock, and the
   way to wait. Plain C on libc: a floor shows what the machine can do without this project. */
#ifndef FLOOR_H
#define FLOOR_H

#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define LINE 64 /* bytes in a cache line */
#ifndef BATCHES
#define BATCHES 5
#endif

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static inline void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return p;
}

/* How a rank waits: spin, then yield, then sleep for short times. These are the lengths that the
   runtime uses too. When ranks outnumber processors it spins only while the peer it waits for runs
   on another processor: each rank has a word that says where it runs. */
static unsigned spins = 2000, yields = 20000;
static long sleep_ns = 50000;
enum { MOST_RANKS = 64, WATCH = 64, NOBODY = -1 };
struct station {
    int runs_on; /* processor + 1; 0: gave it up */
    char apart[2 * LINE - 4];
};
/* In .data, near the code: the arrays of a floor may fill more than 2 GiB of .bss. */
#define NEAR __attribute__((section(".data")))
static NEAR struct station *stations; /* null: ranks have a processor each */
static NEAR int me, watched = NOBODY;
static inline void set_wait(int ranks)
{
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int per = (ranks + processors - 1) / processors;
    spins = ranks > processors ? 0 : 2000;
    yields = 20000u / (unsigned)(per < 1 ? 1 : per > 20 ? 20 : per);
    sleep_ns = 50000L * (per / 4 < 1 ? 1 : per / 4 > 40 ? 40 : per / 4);
}
static inline void pause_cpu(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}
struct waiter {
    unsigned steps, polls;
};
static inline void arrive(void)
{
    if (stations)
        __atomic_store_n(&stations[me].runs_on, sched_getcpu() + 1, __ATOMIC_RELAXED);
}
static NOINLINE void wait_longer(struct waiter *w)
{
    if (stations) {
        const int there =
            watched < 0 ? 0 : __atomic_load_n(&stations[watched].runs_on, __ATOMIC_RELAXED);
        if (there && there != stations[me].runs_on && w->polls < WATCH) {
            if (++w->polls % 8 == 0)
                pause_cpu();
            return;
        }
        w->polls = 0;
        __atomic_store_n(&stations[me].runs_on, 0, __ATOMIC_RELAXED);
    }
    if (++w->steps - spins <= yields) {
        sched_yield();
    } else {
        const struct timespec t = {0, sleep_ns};
        nanosleep(&t, NULL);
    }
    arrive();
}
static inline void wait_step(struct waiter *w)
{
    if (w->steps < spins) {
        if (++w->steps % 8 == 0)
            pause_cpu();
    } else {
        wait_longer(w);
    }
}

/* Become `ranks` processes; returns which one this is. Bound to processors if there are enough, else
   only started on them in turn. */
static inline int start_ranks(int ranks)
{
    set_wait(ranks);
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    fflush(stdout);
    if (ranks > processors && ranks <= MOST_RANKS)
        stations = shared_memory(sizeof *stations * (size_t)ranks);
    int rank = 0;
    for (int r = 1; r < ranks; r++) {
        const pid_t child = fork();
        if (child < 0) {
            perror("fork");
            exit(1);
        }
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            rank = r;
            break;
        }
    }
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && seen++ == rank % processors) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            break;
        }
    if (ranks > processors)
        sched_setaffinity(0, sizeof allowed, &allowed);
    me = rank;
    arrive();
    return rank;
}
static inline void end_ranks(int rank)
{
    fflush(stdout);
    if (rank != 0)
        _exit(0);
    int status, bad = 0;
    while (wait(&status) > 0)
        bad |= status;
    exit(bad != 0);
}

/* A barrier on one counter: the last to come opens the next round. */
struct central {
    uint32_t count;
    char apart[LINE - 4];
    uint32_t round;
    char apart_too[LINE - 4];
};
static inline void central_barrier(struct central *b, unsigned ranks)
{
    const uint32_t round = __atomic_load_n(&b->round, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&b->count, 1, __ATOMIC_ACQ_REL) == ranks) {
        __atomic_store_n(&b->count, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&b->round, round + 1, __ATOMIC_RELEASE);
    } else {
        struct waiter w = {0};
        watched = NOBODY;
        while (__atomic_load_n(&b->round, __ATOMIC_ACQUIRE) == round)
            wait_step(&w);
    }
}

/* A result: one line a batch. */
static inline void report(const char *name, double value) { printf("%s %.6g\n", name, value); }

static inline long argument(int argc, char **argv, int i, long otherwise)
{
    return argc > i ? strtol(argv[i], NULL, 0) : otherwise;
}

#endif
