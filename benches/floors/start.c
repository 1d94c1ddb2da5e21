/* start RANKS BARRIERS: fork, meet, end. Prints the seconds it took. */
#include "floor.h"

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 256);
    const long count = argument(argc, argv, 2, 100);
    const double start = now_ns();
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(ranks);
    for (long i = 0; i < count; i++)
        central_barrier(b, (unsigned)ranks);
    if (rank == 0) {
        int status;
        while (wait(&status) > 0)
            ;
        report("start", (now_ns() - start) / 1e9);
    }
    end_ranks(rank);
}
