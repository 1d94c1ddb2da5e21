/* gups RANKS: updates at random places of a table of -DN=... 64-bit words a rank, in shared memory. Prints ns per
   update of one rank. */
#include "floor.h"

static uint64_t *table;

static NOINLINE uint64_t update(uint64_t ran, long count, uint64_t mask)
{
    for (long k = 0; k < count; k++) {
        ran = ran << 1 ^ ((int64_t)ran < 0 ? 7 : 0);
        table[ran & mask] ^= ran;
    }
    return ran;
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 2);
    struct central *barrier = shared_memory(sizeof *barrier);
    table = shared_memory(sizeof *table * N * (size_t)ranks);
    const int rank = start_ranks(ranks);
    for (long i = N * rank; i < N * (rank + 1); i++)
        table[i] = (uint64_t)i;
    uint64_t ran = 0x123456789abcdefu + 0x9e3779b97f4a7c15u * (uint64_t)rank;
    const long count = 4000000;
    for (int batch = -1; batch < 3; batch++) {
        central_barrier(barrier, (unsigned)ranks);
        const double start = now_ns();
        ran = update(ran, count, (uint64_t)N * (uint64_t)ranks - 1);
        central_barrier(barrier, (unsigned)ranks);
        if (rank == 0 && batch >= 0)
            report("gups", (now_ns() - start) / (double)count);
    }
    if (ran == 0)
        _exit(1);
    end_ranks(rank);
}
