/* tcp_stream NETNS ADDRESS: a TCP stream from here to a process in the network namespace NETNS, where
   ADDRESS is, under the system's congestion control and under CUBIC. Prints bytes per ns of each,
   counted where they arrive. */
#include "floor.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
    enum { PORT = 7077, BLOCK = 1 << 20 };
    const double batch_ns = 5e8;
    if (argc < 3)
        return 2;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, argv[2], &at.sin_addr);
    struct central *barrier = shared_memory(sizeof *barrier);
    uint64_t *come = shared_memory(sizeof *come);
    char *const data = malloc(BLOCK);
    memset(data, 7, BLOCK);
    const int rank = start_ranks(2), on = 1;
    if (rank == 1) {
        char path[256];
        snprintf(path, sizeof path, "/run/netns/%s", argv[1]);
        check(setns(open(path, O_RDONLY), CLONE_NEWNET), path);
    }
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 1) {
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        check(bind(s, (void *)&at, sizeof at) || listen(s, 1), "listen");
    }
    central_barrier(barrier, 2);
    for (int which = 0; which < 2; which++) {
        if (rank == 1) {
            const int from = accept(s, NULL, NULL);
            for (ssize_t n; (n = recv(from, data, BLOCK, 0)) > 0;)
                __atomic_fetch_add(come, (uint64_t)n, __ATOMIC_RELAXED);
            close(from);
            continue;
        }
        const int to = socket(AF_INET, SOCK_STREAM, 0);
        if (which)
            check(setsockopt(to, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), "cubic");
        check(connect(to, (void *)&at, sizeof at), "connect");
        for (int batch = -1; batch < BATCHES; batch++) {
            const uint64_t before = __atomic_load_n(come, __ATOMIC_RELAXED);
            const double start = now_ns();
            while (now_ns() - start < batch_ns)
                check(send(to, data, BLOCK, MSG_NOSIGNAL) < 0, "send");
            const uint64_t after = __atomic_load_n(come, __ATOMIC_RELAXED);
            if (batch >= 0)
                report(which ? "cubic" : "default", (double)(after - before) / (now_ns() - start));
        }
        close(to);
    }
    end_ranks(rank);
}
