/* fadd RANKS: all ranks add to one shared word at once. Prints ns per addition of one rank. */
#include "floor.h"

static NOINLINE uint64_t adds(uint64_t *word, long count)
{
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum += __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    return sum;
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 2);
    uint64_t *word = shared_memory(LINE);
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(ranks);
    const long count = 500000;
    volatile uint64_t consume;
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(b, (unsigned)ranks);
        const double start = now_ns();
        consume = adds(word, count);
        central_barrier(b, (unsigned)ranks);
        if (rank == 0 && batch >= 0)
            report("fadd", (now_ns() - start) / (double)count);
    }
    (void)consume;
    if (rank == 0 && *word != (uint64_t)ranks * (uint64_t)count * (BATCHES + 1))
        return 1;
    end_ranks(rank);
}
