/* fault PAGES: one thread loads from pages that are missing, another puts each in place by userfaultfd, as a pager
   does that has the page at hand. Prints ns per page. */
#include "floor.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
enum { PAGE = 4096 };

static int faults;
static uint8_t page[PAGE] __attribute__((aligned(PAGE)));

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *serve(void *nothing)
{
    struct pollfd one = {.fd = faults, .events = POLLIN};
    struct uffd_msg message;
    for (;;) {
        if (poll(&one, 1, -1) < 0 || read(faults, &message, sizeof message) != sizeof message)
            fail("userfaultfd: read");
        struct uffdio_copy copy = {
            .dst = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1), .src = (uintptr_t)page, .len = PAGE};
        if (ioctl(faults, UFFDIO_COPY, &copy) < 0)
            fail("userfaultfd: copy");
    }
    return nothing;
}

static NOINLINE void touch(const uint8_t *memory, long pages)
{
    for (long i = 0; i < pages; i++)
        if (*(const volatile uint8_t *)(memory + i * PAGE) != 7)
            exit(1);
}

int main(int argc, char **argv)
{
    const long pages = argument(argc, argv, 1, 4096);
    const size_t bytes = (size_t)pages * PAGE;
    uint8_t *memory = shared_memory(bytes);
    memset(page, 7, sizeof page);
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register all = {.range = {(uintptr_t)memory, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0 || ioctl(faults, UFFDIO_REGISTER, &all) < 0)
        fail("userfaultfd");
    pthread_t server;
    if (pthread_create(&server, NULL, serve, NULL) != 0)
        fail("a thread");
    for (int batch = -1; batch < BATCHES; batch++) {
        const double start = now_ns();
        touch(memory, pages);
        if (batch >= 0)
            report("fault", (now_ns() - start) / (double)pages);
        if (madvise(memory, bytes, MADV_REMOVE) < 0)
            fail("madvise");
    }
    return 0;
}
