/* copy: 8-byte stores to and loads from another process's memory through a common mapping, memcpy of
   1 MiB into it, and of 64 rows of 64 bytes that are a kilobyte apart on both sides. Prints ns per
   store, load and 64 rows, and GB/s. */
#include "floor.h"

#define MIB (1 << 20)

static NOINLINE void stores(volatile uint64_t *to, long count)
{
    for (long i = 0; i < count; i++)
        to[i & 511] = (uint64_t)i;
}
static NOINLINE uint64_t loads(const volatile uint64_t *from, long count)
{
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum += from[i & 511];
    return sum;
}
static NOINLINE void blocks(char *to, const char *from, long count)
{
    for (long i = 0; i < count; i++) {
        memcpy(to, from, MIB);
        __asm__ volatile("" ::: "memory");
    }
}
static NOINLINE void rows(char *to, const char *from, long count)
{
    for (long i = 0; i < count; i++) {
        for (int row = 0; row < 64; row++)
            memcpy(to + 1024 * row, from + 1024 * row, 64);
        __asm__ volatile("" ::: "memory");
    }
}

int main(void)
{
    char *memory = shared_memory(2 * MIB);
    char *source = malloc(MIB);
    if (!source)
        return 1;
    memset(source, 1, MIB);
    memset(memory, 0, 2 * MIB);
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(2);
    memset(memory + rank * MIB, 2, MIB); /* each rank touches its own */
    central_barrier(b, 2);
    if (rank == 0) {
        volatile uint64_t consume;
        const long words = 2000000, copies = 100;
        for (int batch = -1; batch < BATCHES; batch++) {
            double start = now_ns();
            stores((volatile uint64_t *)(memory + MIB), words);
            const double store = (now_ns() - start) / (double)words;
            start = now_ns();
            consume = loads((volatile uint64_t *)(memory + MIB), words);
            const double load = (now_ns() - start) / (double)words;
            start = now_ns();
            blocks(memory + MIB, source, copies);
            const double rate = (double)copies * MIB / (now_ns() - start);
            start = now_ns();
            rows(memory + MIB, source, 200 * copies);
            const double box = (now_ns() - start) / (200.0 * (double)copies);
            if (batch >= 0) {
                report("store8", store);
                report("load8", load);
                report("memcpy_1m", rate);
                report("rows", box);
            }
        }
        (void)consume;
        if (memory[MIB + 5] != 1)
            return 1;
    }
    /* The owner waits here, off the processor: this floor has one active rank. */
    if (rank == 0)
        central_barrier(b, 2);
    else
        while (__atomic_load_n(&b->count, __ATOMIC_ACQUIRE) == 0)
            usleep(1000);
    if (rank == 1)
        central_barrier(b, 2);
    end_ranks(rank);
}
