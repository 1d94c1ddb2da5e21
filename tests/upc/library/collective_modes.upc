// upc_collective.h: every function with every pair of UPC_IN_* and UPC_OUT_*: what each pair lets a program do right before and right
// after the call is done here, with threads that come at different times.
#include "../check.h"
#include <upc_collective.h>

#define N 5
#define WHOLE ((size_t)N * THREADS * sizeof(int))

static shared void *src, *dst, *few, *sums;
static shared int perm[THREADS];
static shared int total;

/* A thread's part of an array with one block for each. */
static shared [] int *part(shared void *array, int thread)
{
    return (shared [] int *)((shared char *)array + thread);
}
static int value(int round, int thread, int i)
{
    return round * 10000 + thread * 100 + i;
}
static void fill(shared void *array, int thread, int count, int round)
{
    for (int i = 0; i < count; i++)
        part(array, thread)[i] = value(round, thread, i);
}
static void skew(int round)
{
    for (volatile int i = 0; i < (MYTHREAD * 7919 + round * 104729) % 30000; i++)
        ;
}

/* The thread whose data this one may write before a call, and read and write after it. */
static int before(int in)
{
    return in == UPC_IN_ALLSYNC ? (MYTHREAD + 1) % THREADS : MYTHREAD;
}
static int after(int out)
{
    return out == UPC_OUT_MYSYNC ? MYTHREAD : (MYTHREAD + 1) % THREADS;
}

enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, PERMUTE, REDUCE, PREFIX, ALL };

static void one(int what, int in, int out, int round)
{
    const int root = round % THREADS, writes = before(in), reads = after(out), mode = in | out;
    const size_t block = N * sizeof(int);
    shared void *from = what == REDUCE || what == PREFIX ? few : src;
    const int count = from == few ? N : N * THREADS;

    skew(round);
    fill(from, writes, count, round);
    for (int i = 0; i < count; i++)
        part(what == PREFIX ? sums : dst, writes)[i] = -1;
    if (writes == 0)
        total = -1;
    if (in == UPC_IN_NOSYNC)
        upc_barrier;
    skew(round + 1);
    switch (what) {
    case BROADCAST: upc_all_broadcast(dst, part(src, root), block, mode); break;
    case SCATTER: upc_all_scatter(dst, part(src, root), block, mode); break;
    case GATHER: upc_all_gather(part(dst, root), src, block, mode); break;
    case GATHER_ALL: upc_all_gather_all(dst, src, block, mode); break;
    case EXCHANGE: upc_all_exchange(dst, src, block, mode); break;
    case PERMUTE: upc_all_permute(dst, src, perm, block, mode); break;
    case REDUCE: upc_all_reduceI(&total, few, UPC_ADD, (size_t)N * THREADS, N, NULL, mode); break;
    case PREFIX: upc_all_prefix_reduceI(sums, few, UPC_MAX, (size_t)N * THREADS, N, NULL, mode); break;
    }
    if (out == UPC_OUT_NOSYNC)
        upc_barrier;
    for (int i = 0; i < N; i++) {
        shared [] int *got = part(dst, reads);
        switch (what) {
        case BROADCAST: CHECK_EQ(got[i], value(round, root, i)); break;
        case SCATTER: CHECK_EQ(got[i], value(round, root, reads * N + i)); break;
        case PERMUTE: CHECK_EQ(got[i], value(round, THREADS - 1 - reads, i)); break;
        case PREFIX: CHECK_EQ(part(sums, reads)[i], value(round, reads, i)); break;
        case GATHER:
        case GATHER_ALL:
            for (int t = 0; t < THREADS; t++)
                if (what == GATHER_ALL || reads == root)
                    CHECK_EQ(got[t * N + i], value(round, t, i));
            break;
        case EXCHANGE:
            for (int t = 0; t < THREADS; t++)
                CHECK_EQ(got[t * N + i], value(round, t, reads * N + i));
            break;
        }
    }
    if (what == REDUCE && reads == 0) {
        int sum = 0;
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < N; i++)
                sum += value(round, t, i);
        CHECK_EQ(total, sum);
    }
    /* Nobody needs it any more. */
    fill(from, reads, count, -round);
    upc_barrier;
}

int main(void)
{
    const int in[] = {UPC_IN_NOSYNC, UPC_IN_MYSYNC, UPC_IN_ALLSYNC};
    const int out[] = {UPC_OUT_NOSYNC, UPC_OUT_MYSYNC, UPC_OUT_ALLSYNC};
    src = upc_all_alloc(THREADS, WHOLE);
    dst = upc_all_alloc(THREADS, WHOLE);
    few = upc_all_alloc(THREADS, N * sizeof(int));
    sums = upc_all_alloc(THREADS, N * sizeof(int));
    perm[MYTHREAD] = THREADS - 1 - MYTHREAD;
    upc_barrier;
    int round = 1;
    for (int repeat = 0; repeat < 3; repeat++)
        for (int what = 0; what < ALL; what++)
            for (int i = 0; i < 3; i++)
                for (int o = 0; o < 3; o++)
                    one(what, in[i], out[o], round++);
    PASS();
}
