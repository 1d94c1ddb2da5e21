/* put8, get8 and 1 MiB puts to a neighbour over gasnet.h. Rank 0 prints ns and GB/s. */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
#define BATCHES 5

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static void must(int code)
{
    if (code != GASNET_OK) {
        fprintf(stderr, "rma: %s\n", gasnet_ErrorDesc(code));
        gasnet_exit(1);
    }
}
static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    must(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

static __attribute__((noinline)) void puts8(gasnet_node_t node, uint64_t *to, long count)
{
    for (long i = 0; i < count; i++) {
        uint64_t value = (uint64_t)i;
        gasnet_put(node, &to[i & 511], &value, 8);
    }
}
static __attribute__((noinline)) uint64_t gets8(gasnet_node_t node, uint64_t *from, long count)
{
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) {
        uint64_t value;
        gasnet_get(&value, node, &from[i & 511], 8);
        sum += value;
    }
    return sum;
}

int main(int argc, char **argv)
{
    must(gasnet_init(&argc, &argv));
    must(gasnet_attach(NULL, 0, 2 * MIB, 0));
    const gasnet_node_t nodes = gasnet_nodes(), peer = 1 % nodes;
    gasnet_seginfo_t *segment = malloc(nodes * sizeof *segment);
    must(gasnet_getSegmentInfo(segment, (int)nodes));
    char *there = segment[peer].addr, *source = malloc(MIB);
    memset(source, 1, MIB);
    memset(segment[gasnet_mynode()].addr, 2, MIB);
    const long words = 2000000, copies = 100;
    volatile uint64_t consume;
    for (int batch = -1; batch < BATCHES; batch++) {
        meet();
        if (gasnet_mynode() != 0)
            continue;
        double start = now_ns();
        puts8(peer, (uint64_t *)there, words);
        const double put = (now_ns() - start) / (double)words;
        start = now_ns();
        consume = gets8(peer, (uint64_t *)there, words);
        const double get = (now_ns() - start) / (double)words;
        start = now_ns();
        for (long i = 0; i < copies; i++)
            gasnet_put_bulk(peer, there, source, MIB);
        const double rate = (double)copies * MIB / (now_ns() - start);
        if (batch >= 0)
            printf("put8 %.6g\nget8 %.6g\nbw %.6g\n", put, get, rate);
    }
    (void)consume;
    meet();
    free(segment);
    free(source);
    fflush(stdout);
    gasnet_exit(0);
    return 0;
}
