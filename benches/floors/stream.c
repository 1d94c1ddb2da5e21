/* stream: one process fills a ring of cache-line slots, the other empties it. Prints us per slot. */
#include "floor.h"

#define SLOTS 256

struct slot {
    uint64_t turn; /* 2 * lap + (full ? 1 : 0) */
    uint64_t word[7];
};

static NOINLINE uint64_t fill(struct slot *ring, uint64_t at, long count)
{
    for (long i = 0; i < count; i++, at++) {
        struct slot *s = &ring[at % SLOTS];
        while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) != 2 * (at / SLOTS))
            pause_cpu();
        s->word[0] = at;
        __atomic_store_n(&s->turn, 2 * (at / SLOTS) + 1, __ATOMIC_RELEASE);
    }
    return at;
}
static NOINLINE uint64_t drain(struct slot *ring, uint64_t at, long count, uint64_t *sum)
{
    for (long i = 0; i < count; i++, at++) {
        struct slot *s = &ring[at % SLOTS];
        while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) != 2 * (at / SLOTS) + 1)
            pause_cpu();
        *sum += s->word[0];
        __atomic_store_n(&s->turn, 2 * (at / SLOTS) + 2, __ATOMIC_RELEASE);
    }
    return at;
}

int main(void)
{
    struct slot *ring = shared_memory(SLOTS * sizeof *ring);
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(2);
    const long count = 300000;
    uint64_t at = 0, sum = 0;
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(b, 2);
        const double start = now_ns();
        at = rank == 0 ? fill(ring, at, count) : drain(ring, at, count, &sum);
        central_barrier(b, 2);
        if (rank == 0 && batch >= 0)
            report("stream", (now_ns() - start) / (double)count / 1000.0);
    }
    if (rank == 1 && sum != at * (at - 1) / 2)
        _exit(1);
    end_ranks(rank);
}
