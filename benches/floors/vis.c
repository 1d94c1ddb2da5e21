/* vis: runs of bytes copied to and from another process's memory through a common mapping, by the loop that one would write:
   8, 64 and 512 bytes at twice that distance, the same without a gap (one memcpy), a grid of 16 x 8 x 8 words, and words and
   blocks of 64 bytes at 1024 and 256 places in no order; the same runs to and from rows without a gap on the near side.
   Prints ns a transfer. */
#include "floor.h"

#define ROOM (1 << 20)
#define WORDS 1024
#define BLOCKS 256
#define ROWS 64

static char *near_memory, *far_memory;
static char *places[2][WORDS];

#define SHAPES(name, to, from, TO, FROM)                           \
    static NOINLINE void name##_run8(void)                         \
    {                                                              \
        for (int i = 0; i < WORDS; i++)                            \
            memcpy(to + 16 * i, from + 16 * i, 8);                   \
    }                                                              \
    static NOINLINE void name##_run64(void)                        \
    {                                                              \
        for (int i = 0; i < BLOCKS; i++)                           \
            memcpy(to + 128 * i, from + 128 * i, 64);                \
    }                                                              \
    static NOINLINE void name##_run512(void)                       \
    {                                                              \
        for (int i = 0; i < ROWS; i++)                             \
            memcpy(to + 1024 * i, from + 1024 * i, 512);             \
    }                                                              \
    static NOINLINE void name##_dense(void) { memcpy(to, from, 8 * WORDS); } \
    static NOINLINE void name##_grid8(void)                        \
    {                                                              \
        for (int k = 0; k < 8; k++)                                \
            for (int j = 0; j < 8; j++)                            \
                for (int i = 0; i < 16; i++) {                     \
                    const int at = 24 * i + 512 * j + 8192 * k;    \
                    memcpy(to + at, from + at, 8);                   \
                }                                                  \
    }                                                              \
    static NOINLINE void name##_list8(void)                        \
    {                                                              \
        for (int i = 0; i < WORDS; i++)                            \
            memcpy(places[TO][i], places[FROM][i], 8);               \
    }                                                              \
    static NOINLINE void name##_list64(void)                       \
    {                                                              \
        for (int i = 0; i < BLOCKS; i++)                           \
            memcpy(places[TO][i], places[FROM][i], 64);              \
    }
SHAPES(put, far_memory, near_memory, 1, 0)
SHAPES(get, near_memory, far_memory, 0, 1)

#define TIGHT(name, len, count)                                        \
    static NOINLINE void put_tight##name(void)                         \
    {                                                                  \
        for (int i = 0; i < count; i++)                                \
            memcpy(far_memory + 2 * len * i, near_memory + len * i, len); \
    }                                                                  \
    static NOINLINE void get_tight##name(void)                         \
    {                                                                  \
        for (int i = 0; i < count; i++)                                \
            memcpy(near_memory + len * i, far_memory + 2 * len * i, len); \
    }
TIGHT(8, 8, WORDS)
TIGHT(64, 64, BLOCKS)
TIGHT(512, 512, ROWS)

static const struct {
    const char *key;
    void (*run)(void);
} all[] = {
    { "put_run8", put_run8 },     { "put_run64", put_run64 }, { "put_run512", put_run512 }, { "put_dense", put_dense },
    { "put_grid8", put_grid8 },   { "put_list8", put_list8 }, { "put_list64", put_list64 }, { "get_run8", get_run8 },
    { "get_run64", get_run64 },   { "get_run512", get_run512 }, { "get_dense", get_dense }, { "get_grid8", get_grid8 },
    { "get_list8", get_list8 },   { "get_list64", get_list64 }, { "put_tight8", put_tight8 }, { "get_tight8", get_tight8 },
    { "put_tight64", put_tight64 }, { "get_tight64", get_tight64 }, { "put_tight512", put_tight512 },
    { "get_tight512", get_tight512 },
};

/* The places of the client `vis.c`, too: every 17th block of 128 bytes. */
static void make_places(void)
{
    for (int i = 0; i < WORDS; i++) {
        places[0][i] = near_memory + 128 * (i * 17 % WORDS);
        places[1][i] = far_memory + 128 * (i * 29 % WORDS);
    }
}

int main(void)
{
    char *const memory = shared_memory(2 * ROOM);
    near_memory = malloc(ROOM);
    if (!near_memory)
        return 1;
    memset(near_memory, 1, ROOM);
    memset(memory, 0, 2 * ROOM);
    struct central *b = shared_memory(sizeof *b);
    const int rank = start_ranks(2);
    memset(memory + rank * ROOM, 2, ROOM); /* each rank touches its own */
    central_barrier(b, 2);
    if (rank == 0) {
        const int times = 2000;
        far_memory = memory + ROOM;
        make_places();
        for (int batch = -1; batch < BATCHES; batch++)
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                const double start = now_ns();
                for (int n = 0; n < times; n++) {
                    all[i].run();
                    __asm__ volatile("" ::: "memory");
                }
                if (batch >= 0)
                    report(all[i].key, (now_ns() - start) / times);
            }
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
