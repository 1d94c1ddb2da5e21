/* bcast RANKS [BYTES]: all ranks but the first copy so many bytes (1 MiB) of it out of shared memory, side by side, between two
   central barriers. Prints bytes copied by all together per ns. */
#include "floor.h"

static NOINLINE void copies(struct central *b, unsigned ranks, int rank, char *to, const char *from,
                            size_t bytes, long count)
{
    for (long i = 0; i < count; i++) {
        central_barrier(b, ranks);
        if (rank > 0)
            memcpy(to, from, bytes);
        central_barrier(b, ranks);
    }
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 4);
    const size_t bytes = (size_t)argument(argc, argv, 2, 1 << 20);
    if (ranks < 2)
        return 2;
    struct central *b = shared_memory(sizeof *b);
    char *all = shared_memory(bytes * (size_t)ranks);
    const int rank = start_ranks(ranks);
    char *mine = all + bytes * (size_t)rank;
    memset(mine, rank, bytes);
    const long count = 100;
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(b, (unsigned)ranks);
        const double start = now_ns();
        copies(b, (unsigned)ranks, rank, mine, all, bytes, count);
        if (rank == 0 && batch >= 0)
            report("copies", (double)bytes * (ranks - 1) * (double)count / (now_ns() - start));
    }
    end_ranks(rank);
}
