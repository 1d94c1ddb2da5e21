/* wake: a process sets a word in shared memory, and wakes a thread of another one that sleeps until then; the thread
   sets a word back. Beside the thread, its process computes. Prints ns per round trip. */
#include "floor.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

struct words {
    _Atomic uint32_t asked, asleep;
    char apart[LINE - 8];
    _Atomic uint32_t answered;
    char apart_too[LINE - 4];
    _Atomic uint32_t over;
};
static struct words *words;

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void *serve(void *nothing)
{
    uint32_t seen = 0;
    while (!words->over) {
        words->asleep = 1;
        while (words->asked == seen && !words->over)
            futex(&words->asleep, FUTEX_WAIT, 1);
        words->asleep = 0;
        words->answered = seen = words->asked;
    }
    return nothing;
}

static NOINLINE void ask(uint32_t from, long count)
{
    for (long i = 1; i <= count; i++) {
        words->asked = from + (uint32_t)i;
        if (words->asleep == 1) {
            words->asleep = 0;
            futex(&words->asleep, FUTEX_WAKE, 1);
        }
        struct waiter w = {0};
        while (words->answered != from + (uint32_t)i)
            wait_step(&w);
    }
}

int main(void)
{
    const long count = 2000;
    words = shared_memory(sizeof *words);
    const int rank = start_ranks(2);
    if (rank == 1) {
        pthread_t server;
        if (pthread_create(&server, NULL, serve, NULL) != 0)
            _exit(1);
        while (!words->over)
            ;
        pthread_join(server, NULL);
    } else {
        for (int batch = -1; batch < BATCHES; batch++) {
            const double start = now_ns();
            ask((uint32_t)((batch + 1) * count), count);
            if (batch >= 0)
                report("wake", (now_ns() - start) / (double)count);
        }
        words->over = 1;
        futex(&words->asleep, FUTEX_WAKE, 1);
    }
    end_ranks(rank);
}
