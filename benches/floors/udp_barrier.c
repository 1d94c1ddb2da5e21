/* udp_barrier [RANKS]: a dissemination barrier of raw datagrams, waiting in the ways there are that
   make sense with so many ranks, and the barrier on one counter in shared memory. Prints ns per
   barrier: of each, and the sum of the best by datagrams and the other. */
#include "udp.h"

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 8), count = 1000;
    struct sockaddr_in at[MOST_RANKS];
    int s[MOST_RANKS];
    for (int i = 0; i < ranks; i++)
        s[i] = udp_socket(&at[i]);
    struct central *barrier = shared_memory(sizeof *barrier);
    const int rank = start_ranks(ranks), own = s[rank];
    unsigned arrived[2][8] = {{0}}; /* by parity of the phase, and round */
    unsigned phase = 0;
    for (int batch = -1; batch < BATCHES; batch++) {
        double best = 1e30;
        for (int way = YIELD; way < WAYS; way++) {
            central_barrier(barrier, (unsigned)ranks);
            const double start = now_ns();
            for (int i = 0; i < count; i++, phase++)
                for (int round = 0; 1 << round < ranks; round++) {
                    char m[96] = {(char)(phase & 1), (char)round};
                    udp_send(own, m, sizeof m, &at[(rank + (1 << round)) % ranks]);
                    while (!arrived[phase & 1][round]) {
                        udp_receive(own, m, sizeof m, way);
                        arrived[m[0] & 1][(int)m[1]]++;
                    }
                    arrived[phase & 1][round]--;
                }
            const double each = (now_ns() - start) / count;
            best = each < best ? each : best;
            if (rank == 0 && batch >= 0)
                report(way_names[way], each);
        }
        central_barrier(barrier, (unsigned)ranks);
        const double start = now_ns();
        for (int i = 0; i < count; i++)
            central_barrier(barrier, (unsigned)ranks);
        const double shared = (now_ns() - start) / count;
        if (rank == 0 && batch >= 0) {
            report("shared", shared);
            report("sum", best + shared);
        }
    }
    end_ranks(rank);
}
