/* barrier RANKS: a barrier on one central counter. Prints ns per barrier. */
#include "floor.h"

static NOINLINE void barriers(struct central *b, unsigned ranks, long count)
{
    for (long i = 0; i < count; i++)
        central_barrier(b, ranks);
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 2);
    if (ranks < 1)
        return 2;
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(ranks);
    const long count = ranks <= (int)sysconf(_SC_NPROCESSORS_ONLN) ? 50000 : 2000;
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(b, (unsigned)ranks);
        const double start = now_ns();
        barriers(b, (unsigned)ranks, count);
        if (rank == 0 && batch >= 0)
            report("barrier", (now_ns() - start) / (double)count);
    }
    end_ranks(rank);
}
