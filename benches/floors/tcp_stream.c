/* tcp_stream NETNS ADDRESS: a TCP stream from here to a process in the network namespace NETNS, where
   ADDRESS is. Prints bytes per ns, counted where they arrive. */
#include "floor.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
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
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 1) {
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        check(bind(s, (void *)&at, sizeof at) || listen(s, 1), "listen");
    }
    central_barrier(barrier, 2);
    if (rank == 1) {
        s = accept(s, NULL, NULL);
        for (ssize_t n; (n = recv(s, data, BLOCK, 0)) > 0;)
            __atomic_fetch_add(come, (uint64_t)n, __ATOMIC_RELAXED);
        end_ranks(rank);
    }
    check(connect(s, (void *)&at, sizeof at), "connect");
    for (int batch = -1; batch < BATCHES; batch++) {
        const uint64_t before = __atomic_load_n(come, __ATOMIC_RELAXED);
        const double start = now_ns();
        while (now_ns() - start < batch_ns)
            check(send(s, data, BLOCK, MSG_NOSIGNAL) < 0, "send");
        const uint64_t after = __atomic_load_n(come, __ATOMIC_RELAXED);
        if (batch >= 0)
            report("bw", (double)(after - before) / (now_ns() - start));
    }
    close(s);
    end_ranks(rank);
}
