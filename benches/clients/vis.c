/* Transfers of many pieces with a neighbour: the shapes of the floor `vis.c`. Rank 0 prints ns a transfer. */
#include <gasnetex.h>
#include <gasnet_vis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 7
#define ROOM ((size_t)1 << 20)
#define WORDS 1024
#define BLOCKS 256
#define ROWS 64

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t tm;
static gex_Segment_t segment;
static char *here, *there;
static void *places[2][WORDS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

#define NOINLINE static __attribute__((noinline))
#define STRIDED(name, len, levels, strides, counts)                                                     \
    static const ptrdiff_t strides_of_##name[] = strides;                                               \
    static const size_t counts_of_##name[] = counts;                                                    \
    NOINLINE void put_##name(void)                                                                      \
    {                                                                                                   \
        gex_VIS_StridedPutBlocking(tm, 1, there, strides_of_##name, here, strides_of_##name, len,       \
                                   counts_of_##name, levels, 0);                                        \
    }                                                                                                   \
    NOINLINE void get_##name(void)                                                                      \
    {                                                                                                   \
        gex_VIS_StridedGetBlocking(tm, here, strides_of_##name, 1, there, strides_of_##name, len,       \
                                   counts_of_##name, levels, 0);                                        \
    }
#define LIST(...) { __VA_ARGS__ }
STRIDED(run8, 8, 1, LIST(16), LIST(WORDS))
STRIDED(run64, 64, 1, LIST(128), LIST(BLOCKS))
STRIDED(run512, 512, 1, LIST(1024), LIST(ROWS))
STRIDED(dense, 8, 1, LIST(8), LIST(WORDS))
STRIDED(grid8, 8, 3, LIST(24, 512, 8192), LIST(16, 8, 8))

#define LISTED(name, len, count)                                                                        \
    NOINLINE void put_##name(void)                                                                      \
    {                                                                                                   \
        gex_VIS_IndexedPutBlocking(tm, 1, count, places[1], len, count, places[0], len, 0);             \
    }                                                                                                   \
    NOINLINE void get_##name(void)                                                                      \
    {                                                                                                   \
        gex_VIS_IndexedGetBlocking(tm, count, places[0], len, 1, count, places[1], len, 0);             \
    }
LISTED(list8, 8, WORDS)
LISTED(list64, 64, BLOCKS)

#define ROW(name) { "put_" #name, put_##name }, { "get_" #name, get_##name }
static const struct {
    const char *key;
    void (*run)(void);
} all[] = { ROW(run8), ROW(run64), ROW(run512), ROW(dense), ROW(grid8), ROW(list8), ROW(list64) };

int main(int argc, char **argv)
{
    gex_Client_Init(&client, &ep, &tm, "BENCH", &argc, &argv, 0);
    gex_Segment_Attach(&segment, tm, ROOM);
    void *address;
    const gex_Rank_t me = gex_TM_QueryRank(tm);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, 1 - me, &address, NULL, &(uintptr_t){ 0 }, 0));
    there = address;
    here = malloc(ROOM);
    if (!here)
        gasnet_exit(1);
    memset(here, 1, ROOM);
    memset(gex_Segment_QueryAddr(segment), 2, ROOM);
    for (int i = 0; i < WORDS; i++) {
        places[0][i] = here + 128 * (i * 17 % WORDS);
        places[1][i] = there + 128 * (i * 29 % WORDS);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    if (me == 0) {
        const int times = 2000;
        for (int batch = -1; batch < BATCHES; batch++)
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                const double start = now_ns();
                for (int n = 0; n < times; n++)
                    all[i].run();
                if (batch >= 0)
                    printf("%s %.6g\n", all[i].key, (now_ns() - start) / times);
            }
        fflush(stdout);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gasnet_exit(0);
    return 0;
}
