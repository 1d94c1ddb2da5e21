/* udp_pairs RANKS [BYTES]: pairs of processes toss a datagram to and fro, giving up the processor after each look in
   vain. Prints ns per round trip of the first pair. */
#include "udp.h"

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 4);
    const size_t bytes = (size_t)argument(argc, argv, 2, 96);
    struct sockaddr_in at[MOST_RANKS];
    int s[MOST_RANKS];
    for (int i = 0; i < ranks; i++)
        s[i] = udp_socket(&at[i]);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(ranks), own = s[rank], count = 5000;
    static char data[65536];
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(barrier, ranks);
        const double start = now_ns();
        for (int i = 0; i < count; i++) {
            if (rank % 2 == 0)
                udp_send(own, data, bytes, &at[rank ^ 1]);
            udp_receive(own, data, sizeof data, 1);
            if (rank % 2 == 1)
                udp_send(own, data, bytes, &at[rank ^ 1]);
        }
        if (rank == 0 && batch >= 0)
            report("yield", (now_ns() - start) / count);
        central_barrier(barrier, ranks);
    }
    end_ranks(rank);
}
