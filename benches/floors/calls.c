/* calls: ns of a mutex taken and released, and of a TCP socket that is made, bound and closed. */
#include "floor.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

static NOINLINE void locks(pthread_mutex_t *mutex, long count)
{
    for (long i = 0; i < count; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

static NOINLINE int sockets(long count)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (long i = 0; i < count; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any) != 0)
            return 1;
        close(fd);
    }
    return 0;
}

int main(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const long locked = 2000000, made = 2000;
    for (int batch = -1; batch < BATCHES; batch++) {
        double start = now_ns();
        locks(&mutex, locked);
        const double lock = (now_ns() - start) / (double)locked;
        start = now_ns();
        if (sockets(made) != 0)
            return 1;
        const double socket = (now_ns() - start) / (double)made;
        if (batch >= 0) {
            report("mutex", lock);
            report("socket", socket);
        }
    }
    return 0;
}
