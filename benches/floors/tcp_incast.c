/* tcp_incast SENDERS: so many processes send to one over TCP on the loop-back's address, which takes what comes
   from each in turn. Prints bytes per ns of all together, and of one alone. */
#include "floor.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    enum { BLOCK = 1 << 20, ROUND = 64 };
    const int senders = argc > 1 ? atoi(argv[1]) : 16;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(s, (void *)&at, sizeof at) || listen(s, senders), "listen");
    check(getsockname(s, (void *)&at, &len), "getsockname");
    struct central *barrier = shared_memory(sizeof *barrier);
    char *const data = malloc(BLOCK);
    memset(data, 7, BLOCK);
    const int rank = start_ranks(senders + 1);
    struct pollfd *from = calloc((size_t)senders, sizeof *from);
    int to = -1;
    if (rank > 0) {
        to = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(to, (void *)&at, sizeof at), "connect");
        check(write(to, &rank, sizeof rank) != sizeof rank, "write");
    } else {
        for (int i = 0; i < senders; i++) {
            int who;
            const int fd = accept(s, NULL, NULL);
            check(fd < 0 || recv(fd, &who, sizeof who, MSG_WAITALL) != sizeof who, "accept");
            from[i] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    }
    for (int batch = -1; batch < BATCHES; batch++)
        for (int alone = 0; alone < 2; alone++) {
            const int sending = alone ? 1 : senders, each = (ROUND + sending - 1) / sending;
            const size_t all = (size_t)each * (size_t)sending * BLOCK;
            central_barrier(barrier, senders + 1);
            const double start = now_ns();
            if (rank > 0 && rank <= sending)
                for (int i = 0; i < each; i++)
                    for (size_t done = 0; done < BLOCK;) {
                        const ssize_t n = send(to, data + done, BLOCK - done, MSG_NOSIGNAL);
                        check(n < 0, "send");
                        done += (size_t)n;
                    }
            if (rank == 0) {
                for (size_t come = 0; come < all;) {
                    check(poll(from, (nfds_t)senders, -1) < 0, "poll");
                    for (int i = 0; i < senders; i++)
                        if (from[i].revents) {
                            const ssize_t n = recv(from[i].fd, data, BLOCK, 0);
                            check(n <= 0, "recv");
                            come += (size_t)n;
                        }
                }
                if (batch >= 0)
                    report(alone ? "one" : "all", (double)all / (now_ns() - start));
            }
        }
    central_barrier(barrier, senders + 1);
    end_ranks(rank);
}
