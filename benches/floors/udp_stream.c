/* udp_stream [MIB]: one process streams blocks of so many MiB to another, which says after every
   96 KiB how much has come; so much may be on its way. Sizes of datagrams: the largest, and those
   of Ethernet, jumbo frames and 16 KiB in batches (UDP_SEGMENT, UDP_GRO). Prints bytes per ns for
   each; nobody repairs losses, so that there must not be any. */
#include "udp.h"

enum { BATCH = 65507, ACK = 96 << 10 };
static const struct {
    const char *name;
    int size;
} kinds[] = {{"single", BATCH}, {"ethernet", 1472}, {"jumbo", 8972}, {"sixteen", 16384 - 28}};
static const size_t windows[] = {256 << 10, 1 << 20};

int main(int argc, char **argv)
{
    const size_t block = (size_t)argument(argc, argv, 1, 4) << 20;
    struct sockaddr_in at[2];
    int s[2];
    for (int i = 0; i < 2; i++) {
        const int on = 1;
        s[i] = udp_socket(&at[i]);
        setsockopt(s[i], IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    }
    struct central *barrier = shared_memory(sizeof *barrier);
    char *const from = shared_memory(block), *const to = shared_memory(block + BATCH);
    const int rank = start_ranks(2), own = s[rank], count = 100;
    const struct sockaddr_in *peer = &at[1 - rank];
    memset(rank ? to : from, rank, block);
    for (int batch = -1; batch < BATCHES; batch++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            double best = 0;
            for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
                const int size = kinds[k].size, whole = BATCH / size * size;
                const int segment = size < BATCH ? size : 0;
                setsockopt(own, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
                central_barrier(barrier, 2);
                const double start = now_ns();
                for (int i = 0; i < count; i++) {
                    size_t sent = 0, come = 0, told = 0;
                    uint64_t news;
                    while (rank == 0 && come < block) {
                        if (sent < block && sent - come < windows[w]) {
                            const size_t n = block - sent < (size_t)whole ? block - sent : (size_t)whole;
                            udp_send(own, from + sent, n, peer);
                            sent += n;
                        }
                        while (recv(own, &news, sizeof news, MSG_DONTWAIT) == sizeof news)
                            come = news;
                    }
                    while (rank == 1 && come < block) {
                        come += (size_t)udp_receive(own, to + come, BATCH, SPIN);
                        if (come - told >= ACK || come == block) {
                            news = told = come;
                            udp_send(own, &news, sizeof news, peer);
                        }
                    }
                }
                const double rate = (double)block * count / (now_ns() - start);
                best = rate > best ? rate : best;
            }
            if (rank == 0 && batch >= 0)
                report(kinds[k].name, best);
        }
    end_ranks(rank);
}
