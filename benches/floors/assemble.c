/* assemble: two processes send 4 KiB to and fro, which each puts together from 64 pieces: in the memory
   that both share, or in memory of its own, copied there in one piece. The other one sums it up.
   Prints ns per round trip: in_place, copied. Says what a copy less can be worth. */
#include "floor.h"

enum { BYTES = 4096, PIECE = 64 };
struct side {
    volatile uint64_t flag;
    char apart[4096 - 8];
    char data[BYTES];
};
static char pieces[2 * BYTES] __attribute__((aligned(64)));
static char filled[BYTES] __attribute__((aligned(64)));
static volatile uint64_t consume;

static NOINLINE void pack(char *to)
{
    for (size_t i = 0; i < BYTES / PIECE; i++)
        memcpy(to + PIECE * i, pieces + 2 * PIECE * i, PIECE);
}
static NOINLINE void take(const char *from)
{
    uint64_t sum = 0, word;
    for (size_t i = 0; i < BYTES; i += 8) {
        memcpy(&word, from + i, 8);
        sum += word;
    }
    consume = sum;
}
static inline void toss(struct side *to, uint64_t value, int copied)
{
    if (copied) {
        pack(filled);
        memcpy(to->data, filled, BYTES);
    } else {
        pack(to->data);
    }
    __atomic_store_n(&to->flag, value, __ATOMIC_RELEASE);
}
static inline void await(struct side *at, uint64_t value)
{
    while (__atomic_load_n(&at->flag, __ATOMIC_ACQUIRE) != value)
        ;
    take(at->data);
}

int main(void)
{
    struct side *both = shared_memory(2 * sizeof *both);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(2);
    struct side *mine = &both[rank], *other = &both[1 - rank];
    memset(pieces, rank + 1, sizeof pieces);
    memset(other->data, 0, BYTES);
    const long count = 5000;
    uint64_t at = 0;
    for (int batch = -1; batch < BATCHES; batch++)
        for (int copied = 0; copied < 2; copied++) {
            central_barrier(barrier, 2);
            const double start = now_ns();
            for (long i = 0; i < count; i++) {
                at++;
                if (rank == 0) {
                    toss(other, at, copied);
                    await(mine, at);
                } else {
                    await(mine, at);
                    toss(other, at, copied);
                }
            }
            if (rank == 0 && batch >= 0)
                report(copied ? "copied" : "in_place", (now_ns() - start) / (double)count);
        }
    end_ranks(rank);
}
