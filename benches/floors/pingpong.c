/* pingpong [PAIRS] [BYTES]: pairs of processes toss a cache line to and fro; with BYTES, each side
   also copies that much into shared memory before, and out of it after. One pair: tight loops,
   with and without a pause instruction, and the common way to wait, which stands other programs on
   the same processors; more: that only. Prints ns per round trip. */
#include "floor.h"

#define MOST 8192

struct side {
    volatile uint64_t flag;
    char apart[LINE - 8];
    char data[MOST];
};
struct pair {
    struct side to_left, to_right;
};

static char in[MOST], out[MOST];
static size_t bytes;

enum { TIGHT, PAUSE, WAIT };

static inline void await(volatile uint64_t *flag, uint64_t value, int how)
{
    struct waiter w = {0};
    watched = me ^ 1;
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
        if (how == PAUSE)
            pause_cpu();
        else if (how == WAIT)
            wait_step(&w);
}
static inline void toss(struct side *to, uint64_t value)
{
    if (bytes)
        memcpy(to->data, out, bytes);
    __atomic_store_n(&to->flag, value, __ATOMIC_RELEASE);
}
static inline void take(struct side *at, uint64_t value, int how)
{
    await(&at->flag, value, how);
    if (bytes)
        memcpy(in, at->data, bytes);
}

static NOINLINE uint64_t tosses(struct pair *p, int left, uint64_t from, long count, int how)
{
    for (long i = 0; i < count; i++) {
        from++;
        if (left) {
            toss(&p->to_right, from);
            take(&p->to_left, from, how);
        } else {
            take(&p->to_right, from, how);
            toss(&p->to_left, from);
        }
    }
    return from;
}
static NOINLINE uint64_t tosses_tight(struct pair *p, int left, uint64_t from, long count)
{
    return tosses(p, left, from, count, TIGHT);
}

int main(int argc, char **argv)
{
    const int pairs = (int)argument(argc, argv, 1, 1);
    bytes = (size_t)argument(argc, argv, 2, 0);
    if (pairs < 1 || bytes > MOST)
        return 2;
    struct pair *all = shared_memory(sizeof(struct pair) * (size_t)pairs);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(2 * pairs);
    struct pair *mine = &all[rank / 2];
    const int left = rank % 2 == 0;
    uint64_t at = 0;
    const long count = pairs == 1 ? (bytes ? 10000 : 50000) : 2000;
    for (int how = pairs == 1 ? TIGHT : WAIT; how <= WAIT; how++)
        for (int batch = -1; batch < BATCHES; batch++) {
            central_barrier(barrier, 2u * (unsigned)pairs);
            const double start = now_ns();
            at = how == TIGHT ? tosses_tight(mine, left, at, count)
                              : tosses(mine, left, at, count, how);
            central_barrier(barrier, 2u * (unsigned)pairs);
            if (rank == 0 && batch >= 0) /* the first one warms up */
                report(how == TIGHT ? "tight" : how == PAUSE ? "pause" : "wait",
                       (now_ns() - start) / (double)count);
        }
    end_ranks(rank);
}
