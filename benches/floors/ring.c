/* ring BYTES CHUNK: one process writes a stream of bytes into a ring in shared memory, the other reads it out, in
   chunks. Each byte is copied twice, and goes from one processor to the other. Prints GB/s. */
#include "floor.h"

struct ends {
    uint64_t put;
    char apart[LINE - 8];
    uint64_t taken;
    char apart_too[LINE - 8];
};

static void await(const uint64_t *word, uint64_t least)
{
    struct waiter w = {0};
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least)
        wait_step(&w);
}

static NOINLINE void fill(struct ends *ends, uint8_t *ring, const uint8_t *from, long size, long chunk, long bytes)
{
    uint64_t put = ends->put;
    for (long at = 0; at < bytes; at += chunk) {
        await(&ends->taken, put + (uint64_t)chunk < (uint64_t)size ? 0 : put + (uint64_t)chunk - (uint64_t)size);
        memcpy(ring + put % (uint64_t)size, from + at, (size_t)chunk);
        put += (uint64_t)chunk;
        __atomic_store_n(&ends->put, put, __ATOMIC_RELEASE);
    }
}

static NOINLINE void drain(struct ends *ends, const uint8_t *ring, uint8_t *to, long size, long chunk, long bytes)
{
    uint64_t taken = ends->taken;
    for (long at = 0; at < bytes; at += chunk) {
        await(&ends->put, taken + (uint64_t)chunk);
        memcpy(to + at, ring + taken % (uint64_t)size, (size_t)chunk);
        taken += (uint64_t)chunk;
        __atomic_store_n(&ends->taken, taken, __ATOMIC_RELEASE);
    }
}

int main(int argc, char **argv)
{
    const long size = argument(argc, argv, 1, 32768), chunk = argument(argc, argv, 2, 16384);
    const long bytes = 1L << 20, times = 200;
    if (chunk <= 0 || size % chunk != 0 || bytes % chunk != 0)
        return 1;
    struct ends *ends = shared_memory(sizeof *ends);
    struct central *barrier = shared_memory(sizeof *barrier);
    uint8_t *ring = shared_memory((size_t)size), *own = malloc((size_t)bytes);
    const int rank = start_ranks(2);
    memset(own, rank, (size_t)bytes);
    for (int batch = -1; batch < BATCHES; batch++) {
        central_barrier(barrier, 2);
        const double start = now_ns();
        for (long i = 0; i < times; i++) {
            if (rank == 0)
                fill(ends, ring, own, size, chunk, bytes);
            else
                drain(ends, ring, own, size, chunk, bytes);
        }
        central_barrier(barrier, 2);
        if (rank == 0 && batch >= 0)
            report("bw", (double)(times * bytes) / (now_ns() - start));
    }
    if (rank == 1 && own[bytes - 1] != 0)
        _exit(1);
    end_ranks(rank);
}
