/* ofi_pingpong PROVIDER [BYTES]: two processes toss a message to and fro over libfabric, waiting in each of
   the ways there are. Prints ns per round trip. */
#include "ofi.h"

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)argument(argc, argv, 2, 64);
    struct board *board = shared_memory(sizeof *board);
    const int rank = start_ranks(2), count = OPERATIONS;
    static char memory[ROOM];
    struct port *p = ofi_open(argc > 1 ? argv[1] : "tcp", board, rank, memory, sizeof memory);
    for (int batch = -1; batch < BATCHES; batch++)
        for (int way = 0; way < WAYS; way++) {
            central_barrier(&board->barrier, 2);
            const double start = now_ns();
            for (int i = 0; i < count; i++) {
                if (rank == 0)
                    ofi_send(p, memory, bytes);
                while (ofi_poll(p, way) != 1)
                    ;
                if (rank == 1)
                    ofi_send(p, memory, bytes);
            }
            if (rank == 0 && batch >= 0)
                report(way_names[way], (now_ns() - start) / count);
        }
    central_barrier(&board->barrier, 2);
    ofi_close(p);
    end_ranks(rank);
}
