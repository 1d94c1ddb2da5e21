/* Putget: every node writes a pattern into the segments of all others, and reads back what others
   wrote, with blocking, explicit and implicit transfers.

   What it shows: segments and their addresses, gasnet_put, gasnet_put_nb with handles,
   gasnet_get_nbi with one synchronisation for many, gasnet_memset.

   Check: the values are computed again from the numbers of writer, owner and place. */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int code, const char *what)
{
    if (code != GASNET_OK) {
        fprintf(stderr, "putget: %s: %s\n", what, gasnet_ErrorDesc(code));
        gasnet_exit(1);
    }
}
static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    must(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS), "barrier");
}

/* What node `writer` writes at place i of its part of `owner`'s segment. */
static uint64_t pattern(gasnet_node_t writer, gasnet_node_t owner, size_t i)
{
    return ((uint64_t)writer * 1000003u + owner) * 1000003u + i;
}

static void expect(uint64_t found, uint64_t expected, const char *what)
{
    if (found != expected) {
        fprintf(stderr, "putget: node %d: %s: found %llx, expected %llx\n", (int)gasnet_mynode(),
                what, (unsigned long long)found, (unsigned long long)expected);
        gasnet_exit(1);
    }
}

int main(int argc, char **argv)
{
    must(gasnet_init(&argc, &argv), "gasnet_init");
    const gasnet_node_t me = gasnet_mynode(), nodes = gasnet_nodes();

    char *end = NULL;
    const long asked = argc > 1 ? strtol(argv[1], &end, 10) : 10000;
    const int help = argc > 1 && strcmp(argv[1], "--help") == 0;
    const int bad = argc > 2 || (end && *end) || asked < 1 || asked > 10000000;
    const size_t count = bad ? 1 : (size_t)asked;
    /* Segments are whole pages. Node w writes to words w * count up to (w + 1) * count. */
    const size_t bytes = (count * nodes * sizeof(uint64_t) + GASNET_PAGESIZE - 1) /
                         GASNET_PAGESIZE * GASNET_PAGESIZE;
    must(gasnet_attach(NULL, 0, bytes, 0), "gasnet_attach");
    if (help || bad) {
        if (me == 0)
            fprintf(help ? stdout : stderr,
                    "usage: putget [WORDS]   1 to 10000000 to each node, default 10000\n");
        fflush(stdout);
        meet();
        gasnet_exit(help ? 0 : 2);
    }
    gasnet_seginfo_t *segment = malloc(nodes * sizeof *segment);
    uint64_t *words = malloc(count * nodes * sizeof *words);
    gasnet_handle_t *handles = malloc(nodes * sizeof *handles);
    if (!segment || !words || !handles) {
        fprintf(stderr, "putget: out of memory\n");
        gasnet_exit(1);
        return 1;
    }
    must(gasnet_getSegmentInfo(segment, (int)nodes), "gasnet_getSegmentInfo");
    memset(segment[me].addr, 0, bytes);
    meet();

    /* Writes to all nodes under way at once; each handle says when its buffer is free again. */
    for (gasnet_node_t to = 0; to < nodes; to++) {
        uint64_t *part = words + to * count;
        for (size_t i = 0; i < count; i++)
            part[i] = pattern(me, to, i);
        handles[to] = gasnet_put_nb_bulk(to, (uint64_t *)segment[to].addr + me * count, part,
                                         count * sizeof *part);
    }
    gasnet_wait_syncnb_all(handles, nodes);
    meet();
    const uint64_t *own = segment[me].addr;
    for (gasnet_node_t from = 0; from < nodes; from++)
        for (size_t i = 0; i < count; i++)
            expect(own[from * count + i], pattern(from, me, i), "what others wrote here");

    /* Reads of everything that this node's left neighbour wrote, and one wait for all of them. */
    const gasnet_node_t left = (me + nodes - 1) % nodes;
    for (gasnet_node_t at = 0; at < nodes; at++)
        gasnet_get_nbi_bulk(words + at * count, at, (uint64_t *)segment[at].addr + left * count,
                            count * sizeof *words);
    gasnet_wait_syncnbi_gets();
    for (gasnet_node_t at = 0; at < nodes; at++)
        for (size_t i = 0; i < count; i++)
            expect(words[at * count + i], pattern(left, at, i), "what the neighbour wrote");
    meet();

    /* Single values, blocking; and a block set to one byte. */
    const gasnet_node_t right = (me + 1) % nodes;
    uint64_t *there = (uint64_t *)segment[right].addr + me * count, value = 42 + me;
    gasnet_memset(right, there, 0xab, count * sizeof value);
    gasnet_put(right, there, &value, sizeof value);
    value = 0;
    gasnet_get(&value, right, there, sizeof value);
    expect(value, 42 + me, "a single value");
    expect(gasnet_get_val(right, there, sizeof value), 42 + me, "a single value by register");
    if (count > 1)
        expect(gasnet_get_val(right, there + count - 1, 4), 0xabababab, "a block set");
    meet();
    if (me == 0)
        printf("putget: %lu words to each of %d nodes\nverification: passed\n",
               (unsigned long)count, (int)nodes);
    fflush(stdout);
    meet();
    free(segment);
    free(words);
    free(handles);
    gasnet_exit(0);
    return 0;
}
