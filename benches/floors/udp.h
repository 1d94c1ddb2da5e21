/* Raw datagrams between processes of this host: plain sockets on the loop-back, not connected, as a
   job of more than two ranks has to use them. */
#ifndef UDP_H
#define UDP_H

#include "floor.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SO_RCVBUFFORCE
#define SO_RCVBUFFORCE 33
#endif

static inline int udp_socket(struct sockaddr_in *at)
{
    const int s = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    socklen_t len = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (s < 0 || bind(s, (void *)at, sizeof *at) || getsockname(s, (void *)at, &len)) {
        perror("socket");
        exit(1);
    }
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
        setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return s;
}
static inline void udp_send(int s, const void *data, size_t len, const struct sockaddr_in *to)
{
    if (sendto(s, data, len, 0, (const void *)to, sizeof *to) < 0 && errno != EAGAIN) {
        perror("sendto");
        exit(1);
    }
}

/* The ways to wait for a datagram. */
enum { SPIN, YIELD, BLOCK, STAGES, WAYS };
static const char *const way_names[] = {"spin", "yield", "block", "stages"};
static inline ssize_t udp_receive(int s, void *data, size_t room, int way)
{
    struct waiter w = {0};
    watched = NOBODY;
    for (;;) {
        const ssize_t n = recv(s, data, room, way == BLOCK ? 0 : MSG_DONTWAIT);
        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EINTR) {
            perror("recv");
            exit(1);
        }
        if (way == YIELD)
            sched_yield();
        else if (way == STAGES)
            wait_step(&w);
    }
}

#endif
