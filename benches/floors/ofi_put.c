/* ofi_put PROVIDER [BYTES]: one process writes into another's memory over libfabric, one write after the other,
   each until it is in place; both wait in each of the ways there are. Prints ns per write. */
#include "ofi.h"

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)argument(argc, argv, 2, 8);
    struct board *board = shared_memory(sizeof *board);
    const int rank = start_ranks(2), count = OPERATIONS;
    static char memory[ROOM];
    struct port *p = ofi_open(argc > 1 ? argv[1] : "tcp", board, rank, memory, sizeof memory);
    const struct fi_rma_iov there = {board->base[1], bytes, board->key[1]};
    const struct iovec here = {memory, bytes};
    const struct fi_msg_rma message = {.msg_iov = &here, .iov_count = 1, .addr = p->peer, .rma_iov = &there,
                                       .rma_iov_count = 1, .context = &p->context[RECEIVES]};
    const uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE |
                           (bytes <= p->info->tx_attr->inject_size ? FI_INJECT : 0);
    for (int batch = -1; batch < BATCHES; batch++)
        for (int way = 0; way < WAYS; way++) {
            central_barrier(&board->barrier, 2);
            const double start = now_ns();
            if (rank == 1) {
                while (ofi_poll(p, way) != 1)
                    ;
                continue;
            }
            for (int i = 0; i < count; i++) {
                ssize_t n;
                while ((n = fi_writemsg(p->ep, &message, flags)) == -FI_EAGAIN)
                    ofi_poll(p, YIELD);
                ofi_check("fi_writemsg", n);
                while (ofi_poll(p, way) != 0)
                    ;
            }
            const double took = (now_ns() - start) / count;
            if (batch >= 0)
                report(way_names[way], took);
            /* A message ends the target's wait: over shm 1.17 only completions do, whatever the time limit. */
            ofi_send(p, memory, 1);
        }
    central_barrier(&board->barrier, 2);
    ofi_close(p);
    end_ranks(rank);
}
