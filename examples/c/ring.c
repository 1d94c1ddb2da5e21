/* Ring: a token travels round all nodes as active messages; each node adds its number to it.

   What it shows: a handler table, short requests with arguments, waiting for what a handler does.

   Check: after each round the token has grown by the sum of all node numbers. */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN 200 /* index of the handler */

static volatile uint64_t arrived, value;

/* A handler may not block or send requests: it notes what came, and the program goes on. */
static void token_handler(gasnet_token_t token, gasnet_handlerarg_t low, gasnet_handlerarg_t high)
{
    (void)token;
    value = (uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32;
    arrived++;
}

static void must(int code, const char *what)
{
    if (code != GASNET_OK) {
        fprintf(stderr, "ring: %s: %s\n", what, gasnet_ErrorDesc(code));
        gasnet_exit(1);
    }
}
static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    must(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS), "barrier");
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{TOKEN, (void (*)())token_handler}};
    must(gasnet_init(&argc, &argv), "gasnet_init");
    must(gasnet_attach(handlers, 1, GASNET_PAGESIZE, 0), "gasnet_attach");
    const uint64_t me = gasnet_mynode(), nodes = gasnet_nodes();

    char *end = NULL;
    const long rounds = argc > 1 ? strtol(argv[1], &end, 10) : 1000;
    const int help = argc > 1 && strcmp(argv[1], "--help") == 0;
    if (help || argc > 2 || (end && *end) || rounds < 1) {
        if (me == 0)
            fprintf(help ? stdout : stderr, "usage: ring [ROUNDS]   at least 1, default 1000\n");
        fflush(stdout);
        meet();
        gasnet_exit(help ? 0 : 2);
    }
    meet();

    const gasnet_node_t right = (gasnet_node_t)((me + 1) % nodes);
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        /* Node 0 starts each round; the others pass on what they get. */
        if (me != 0)
            GASNET_BLOCKUNTIL(arrived == round);
        const uint64_t next = value + me;
        must(gasnet_AMRequestShort2(right, TOKEN, (gasnet_handlerarg_t)(next & 0xffffffffu),
                                    (gasnet_handlerarg_t)(next >> 32)),
             "request");
        if (me == 0)
            GASNET_BLOCKUNTIL(arrived == round);
    }

    const uint64_t all = nodes * (nodes - 1) / 2, below = me * (me - 1) / 2;
    const uint64_t expected =
        me == 0 ? (uint64_t)rounds * all : (uint64_t)(rounds - 1) * all + (me > 0 ? below : 0);
    if (value != expected) {
        fprintf(stderr, "ring: node %d: the token is %llu, expected %llu\n", (int)me,
                (unsigned long long)value, (unsigned long long)expected);
        gasnet_exit(1);
    }
    meet();
    if (me == 0)
        printf("ring: %ld rounds of %d nodes\nverification: passed\n", rounds, (int)nodes);
    fflush(stdout);
    meet();
    gasnet_exit(0);
    return 0;
}
