/* udp_pingpong [BYTES]: two processes toss a datagram to and fro, waiting in each of the ways there
   are. Prints ns per round trip. */
#include "udp.h"

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)argument(argc, argv, 1, 96);
    struct sockaddr_in at[2];
    int s[2];
    for (int i = 0; i < 2; i++)
        s[i] = udp_socket(&at[i]);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(2), own = s[rank], count = 20000;
    const struct sockaddr_in *peer = &at[1 - rank];
    static char data[65536];
    for (int batch = -1; batch < BATCHES; batch++)
        for (int way = 0; way < WAYS; way++) {
            central_barrier(barrier, 2);
            const double start = now_ns();
            for (int i = 0; i < count; i++) {
                if (rank == 0)
                    udp_send(own, data, bytes, peer);
                udp_receive(own, data, sizeof data, way);
                if (rank == 1)
                    udp_send(own, data, bytes, peer);
            }
            if (rank == 0 && batch >= 0)
                report(way_names[way], (now_ns() - start) / count);
        }
    end_ranks(rank);
}
