/* GASNet-EX beside GASNet-1, in one process and in turn: near, messages [COUNT], refusal, pieces, atomics (2 ranks each), teams
 * (any number). Rank 0 prints ns: keys ex_* and g1_*. */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE static __attribute__((noinline))
#define BATCHES 7
#define PAYLOAD ((size_t)4096)
#define SEGMENT ((size_t)2 << 20)

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t tm;
static gex_Segment_t segment;
static gex_Rank_t peer;
static char *own, *there;
static volatile uint64_t consume;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static void must(int code)
{
    if (code != GASNET_OK) {
        fprintf(stderr, "ex: %s\n", gasnet_ErrorDesc(code));
        gasnet_exit(1);
    }
}
static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    must(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

/* A row: what is measured, so many times. The batches of all rows are run in turn. */
struct row {
    const char *key;
    void (*run)(long count);
    long count;
};
/* Rank 0 runs the rows, while the others wait; or all run them, if they are for all. */
static void measure(const struct row *rows, size_t n, int all)
{
    for (int batch = -1; batch < BATCHES; batch++)
        for (size_t i = 0; i < n; i++) {
            const long count = batch < 0 ? rows[i].count / 4 + 1 : rows[i].count;
            if (all)
                meet();
            else if (gasnet_mynode() != 0)
                continue;
            const double start = now_ns();
            rows[i].run(count);
            if (batch >= 0 && gasnet_mynode() == 0)
                printf("%s %.6g\n", rows[i].key, (now_ns() - start) / (double)count);
        }
    meet();
}
#define MEASURE(rows, all) measure(rows, sizeof(rows) / sizeof(*(rows)), all)

/* ---- transfers of a word to a neighbour ------------------------------------------------------------ */
#define WORD(i) (there + 8 * ((i) & 511))
#define EACH for (long i = 0; i < count; i++)
NOINLINE void ex_put8(long count) { EACH { uint64_t v = (uint64_t)i; gex_RMA_PutBlocking(tm, peer, WORD(i), &v, 8, 0); } }
NOINLINE void g1_put8(long count) { EACH { uint64_t v = (uint64_t)i; gasnet_put(peer, WORD(i), &v, 8); } }
NOINLINE void ex_get8(long count)
{
    uint64_t sum = 0;
    EACH { uint64_t v; gex_RMA_GetBlocking(tm, &v, peer, WORD(i), 8, 0); sum += v; }
    consume = sum;
}
NOINLINE void g1_get8(long count)
{
    uint64_t sum = 0;
    EACH { uint64_t v; gasnet_get(&v, peer, WORD(i), 8); sum += v; }
    consume = sum;
}
NOINLINE void ex_put_nb(long count)
{
    EACH { uint64_t v = (uint64_t)i; gex_Event_Wait(gex_RMA_PutNB(tm, peer, WORD(i), &v, 8, GEX_EVENT_NOW, 0)); }
}
NOINLINE void g1_put_nb(long count)
{
    EACH { uint64_t v = (uint64_t)i; gasnet_wait_syncnb(gasnet_put_nb(peer, WORD(i), &v, 8)); }
}
NOINLINE void ex_get_nb(long count)
{
    uint64_t sum = 0;
    EACH { uint64_t v; gex_Event_Wait(gex_RMA_GetNB(tm, &v, peer, WORD(i), 8, 0)); sum += v; }
    consume = sum;
}
NOINLINE void g1_get_nb(long count)
{
    uint64_t sum = 0;
    EACH { uint64_t v; gasnet_wait_syncnb(gasnet_get_nb(&v, peer, WORD(i), 8)); sum += v; }
    consume = sum;
}
NOINLINE void ex_put_nbi(long count)
{
    EACH { uint64_t v = (uint64_t)i; gex_RMA_PutNBI(tm, peer, WORD(i), &v, 8, GEX_EVENT_NOW, 0); if ((i & 511) == 511) gex_NBI_Wait(GEX_EC_PUT, 0); }
    gex_NBI_Wait(GEX_EC_PUT, 0);
}
NOINLINE void g1_put_nbi(long count)
{
    EACH { uint64_t v = (uint64_t)i; gasnet_put_nbi(peer, WORD(i), &v, 8); if ((i & 511) == 511) gasnet_wait_syncnbi_puts(); }
    gasnet_wait_syncnbi_puts();
}
NOINLINE void ex_put_val(long count) { EACH gex_RMA_PutBlockingVal(tm, peer, WORD(i), (uint64_t)i, 8, 0); }
NOINLINE void g1_put_val(long count) { EACH gasnet_put_val(peer, WORD(i), (uint64_t)i, 8); }
NOINLINE void ex_get_val(long count)
{
    uint64_t sum = 0;
    EACH sum += gex_RMA_GetBlockingVal(tm, peer, WORD(i), 8, 0);
    consume = sum;
}
NOINLINE void g1_get_val(long count)
{
    uint64_t sum = 0;
    EACH sum += gasnet_get_val(peer, WORD(i), 8);
    consume = sum;
}
/* Events of operations that were complete when they were started, where the compiler cannot see that. */
static gex_Event_t volatile events[512];
NOINLINE void ex_test(long count)
{
    uint64_t sum = 0;
    EACH sum += (uint64_t)gex_Event_Test(events[i & 511]);
    consume = sum;
}
NOINLINE void g1_test(long count)
{
    uint64_t sum = 0;
    EACH sum += (uint64_t)gasnet_try_syncnb(events[i & 511]);
    consume = sum;
}
static void near(void)
{
    const long n = 1000000;
    const struct row rows[] = {
        { "ex_put8", ex_put8, n }, { "g1_put8", g1_put8, n }, { "ex_get8", ex_get8, n }, { "g1_get8", g1_get8, n },
        { "ex_put_nb", ex_put_nb, n }, { "g1_put_nb", g1_put_nb, n }, { "ex_get_nb", ex_get_nb, n }, { "g1_get_nb", g1_get_nb, n },
        { "ex_put_nbi", ex_put_nbi, n }, { "g1_put_nbi", g1_put_nbi, n },
        { "ex_put_val", ex_put_val, n }, { "g1_put_val", g1_put_val, n },
        { "ex_get_val", ex_get_val, n }, { "g1_get_val", g1_get_val, n },
        { "ex_test", ex_test, n }, { "g1_test", g1_test, n },
    };
    MEASURE(rows, 0);
}

/* ---- messages to and fro ------------------------------------------------------------------------------- */
enum { SHORT = 130, MEDIUM, LONG, PREPARED, BACK, BACK_MEDIUM, BACK_LONG, NOTHING };
static volatile long answers;
static char filled[PAYLOAD] __attribute__((aligned(64)));
/* A payload is put together from pieces here and there, and read where it arrives. */
static char pieces[2 * PAYLOAD] __attribute__((aligned(64)));
NOINLINE void pack(char *to)
{
    for (size_t i = 0; i < PAYLOAD / 64; i++)
        memcpy(to + 64 * i, pieces + 128 * i, 64);
}
NOINLINE void take(const char *from, size_t n)
{
    uint64_t sum = 0, word;
    for (size_t i = 0; i < n; i += 8) {
        memcpy(&word, from + i, 8);
        sum += word;
    }
    consume = sum;
}
static void on_nothing(gex_Token_t token) { (void)token; }
static void on_short(gex_Token_t token) { gex_AM_ReplyShort0(token, BACK, 0); }
static void on_back(gex_Token_t token) { (void)token; answers++; }
static void on_medium(gex_Token_t token, void *buf, size_t n)
{
    take(buf, n);
    pack(filled);
    gex_AM_ReplyMedium0(token, BACK_MEDIUM, filled, n, GEX_EVENT_NOW, 0);
}
static void on_prepared(gex_Token_t token, void *buf, size_t n)
{
    take(buf, n);
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, n, n, NULL, 0, 0);
    pack(gex_AM_SrcDescAddr(sd));
    gex_AM_CommitReplyMedium0(sd, BACK_MEDIUM, n);
}
static void on_back_medium(gex_Token_t token, void *buf, size_t n)
{
    (void)token;
    take(buf, n);
    answers++;
}
static void on_long(gex_Token_t token, void *buf, size_t n)
{
    take(buf, n);
    pack(filled);
    gex_AM_ReplyLong0(token, BACK_LONG, filled, n, there, GEX_EVENT_NOW, 0);
}

#define ROUNDS(send) EACH { const long next = answers + 1; send; GASNET_BLOCKUNTIL(answers >= next); }
NOINLINE void ex_short(long count) { ROUNDS(gex_AM_RequestShort0(tm, peer, SHORT, 0)) }
NOINLINE void g1_short(long count) { ROUNDS(must(gasnet_AMRequestShort0(peer, SHORT))) }
NOINLINE void ex_medium(long count)
{
    ROUNDS({ pack(filled); gex_AM_RequestMedium0(tm, peer, MEDIUM, filled, PAYLOAD, GEX_EVENT_NOW, 0); })
}
NOINLINE void g1_medium(long count) { ROUNDS({ pack(filled); must(gasnet_AMRequestMedium0(peer, MEDIUM, filled, PAYLOAD)); }) }
NOINLINE void ex_long(long count)
{
    ROUNDS({ pack(filled); gex_AM_RequestLong0(tm, peer, LONG, filled, PAYLOAD, there, GEX_EVENT_NOW, 0); })
}
NOINLINE void g1_long(long count) { ROUNDS({ pack(filled); must(gasnet_AMRequestLong0(peer, LONG, filled, PAYLOAD, there)); }) }
NOINLINE void ex_prepared(long count)
{
    ROUNDS({
        gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, PAYLOAD, PAYLOAD, NULL, 0, 0);
        pack(gex_AM_SrcDescAddr(sd));
        gex_AM_CommitRequestMedium0(sd, PREPARED, PAYLOAD);
    })
}
static void messages(long n)
{
    const struct row rows[] = {
        { "ex_short", ex_short, n }, { "g1_short", g1_short, n },
        { "ex_prepared", ex_prepared, n }, { "ex_medium", ex_medium, n }, { "g1_medium", g1_medium, n },
        { "ex_long", ex_long, n }, { "g1_long", g1_long, n },
    };
    MEASURE(rows, 0);
}

/* ---- requests that are refused: nobody takes what was sent before ------------------------------------------ */
NOINLINE void ex_refusal(long count)
{
    uint64_t refused = 0;
    EACH refused += (uint64_t)gex_AM_RequestShort0(tm, peer, NOTHING, GEX_FLAG_IMMEDIATE);
    if (refused != (uint64_t)count) {
        fprintf(stderr, "ex: %ld of %ld requests were not refused\n", count - (long)refused, count);
        gasnet_exit(1);
    }
}
NOINLINE void ex_refusal_medium(long count)
{
    uint64_t refused = 0;
    EACH refused += (uint64_t)gex_AM_RequestMedium0(tm, peer, NOTHING, filled, PAYLOAD, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE);
    consume = refused;
}
NOINLINE void ex_refusal_prepared(long count)
{
    uint64_t refused = 0;
    EACH refused += gex_AM_PrepareRequestMedium(tm, peer, NULL, PAYLOAD, PAYLOAD, NULL, GEX_FLAG_IMMEDIATE, 0) == GEX_AM_SRCDESC_NO_OP;
    consume = refused;
}
static void refusal(void)
{
    const long n = 200000;
    const struct row rows[] = {
        { "ex_refusal", ex_refusal, n }, { "ex_refusal_medium", ex_refusal_medium, n },
        { "ex_refusal_prepared", ex_refusal_prepared, n },
    };
    volatile uint64_t *const flag = (volatile uint64_t *)(own + PAYLOAD);
    meet();
    if (gasnet_mynode() == 0) {
        while (!gex_AM_RequestShort0(tm, peer, NOTHING, GEX_FLAG_IMMEDIATE))
            ;
        for (int batch = -1; batch < BATCHES; batch++)
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const double start = now_ns();
                rows[i].run(rows[i].count);
                if (batch >= 0)
                    printf("%s %.6g\n", rows[i].key, (now_ns() - start) / (double)rows[i].count);
            }
        gex_RMA_PutBlockingVal(tm, peer, there + PAYLOAD, 1, 8, 0);
    } else {
        while (*flag == 0)
            usleep(1000);
    }
    meet();
}

/* ---- a box of 64 rows of 64 bytes, a kilobyte apart ----------------------------------------------------------- */
enum { ROWS = 64, ROW = 64, APART = 1024 };
static char box[ROWS * APART];
NOINLINE void ex_strided(long count)
{
    const ptrdiff_t apart[1] = { APART };
    const size_t rows[1] = { ROWS };
    EACH gex_VIS_StridedPutBlocking(tm, peer, there, apart, box, apart, ROW, rows, 1, 0);
}
NOINLINE void g1_strided(long count)
{
    const size_t apart[1] = { APART }, rows[2] = { ROW, ROWS };
    EACH gasnet_puts_bulk(peer, there, apart, box, apart, rows, 1);
}
static void *far[ROWS], *here[ROWS];
NOINLINE void ex_indexed(long count) { EACH gex_VIS_IndexedPutBlocking(tm, peer, ROWS, far, ROW, ROWS, here, ROW, 0); }
NOINLINE void g1_indexed(long count) { EACH gasnet_puti_bulk(peer, ROWS, far, ROW, ROWS, here, ROW); }
static void in_pieces(void)
{
    const long n = 20000;
    const struct row rows[] = {
        { "ex_strided", ex_strided, n }, { "g1_strided", g1_strided, n },
        { "ex_indexed", ex_indexed, n }, { "g1_indexed", g1_indexed, n },
    };
    for (int i = 0; i < ROWS; i++) {
        far[i] = there + APART * i;
        here[i] = box + APART * i;
    }
    MEASURE(rows, 0);
}

/* ---- atomic operations on a word of rank 1: by rank 0 alone, and by both ------------------------------------ */
static gex_AD_t ad;
static uint64_t *word;
NOINLINE void ex_fadd(long count)
{
    uint64_t sum = 0, old;
    EACH { gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, 1, word, GEX_OP_FADD, 1, 0, 0)); sum += old; }
    consume = sum;
}
NOINLINE void ex_add_nbi(long count)
{
    EACH gex_AD_OpNBI_U64(ad, NULL, 1, word, GEX_OP_ADD, 1, 0, 0);
    gex_NBI_Wait(GEX_EC_RMW, 0);
}
NOINLINE void ex_fadd_both(long count)
{
    ex_fadd(count);
    meet();
}
static void atomics(void)
{
    const long n = 500000;
    const struct row alone[] = { { "ex_fadd_alone", ex_fadd, n }, { "ex_add_nbi", ex_add_nbi, n } };
    const struct row both[] = { { "ex_fadd", ex_fadd_both, n } };
    gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_FADD | GEX_OP_ADD, 0);
    word = (uint64_t *)(gasnet_mynode() == 1 ? own : there);
    meet();
    MEASURE(alone, 0);
    MEASURE(both, 1);
    gex_AD_Destroy(ad);
}

/* ---- collective operations of all ranks, and of a team that all are in ------------------------------------------------- */
static gex_TM_t team;
static uint64_t mine, result;
NOINLINE void ex_barrier(long count) { EACH gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)); }
NOINLINE void ex_barrier_team(long count) { EACH gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }
NOINLINE void g1_barrier(long count) { EACH meet(); }
NOINLINE void ex_broadcast(long count) { EACH gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, &result, &mine, 8, 0)); }
NOINLINE void g1_broadcast(long count)
{
    EACH gasnet_coll_broadcast(GASNET_TEAM_ALL, &result, 0, &mine, 8, GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
}
NOINLINE void ex_reduce(long count)
{
    EACH gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &result, &mine, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
}
NOINLINE void ex_reduce_team(long count)
{
    EACH gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &result, &mine, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
}
static void teams(void)
{
    const long n = gasnet_nodes() <= (gasnet_node_t)sysconf(_SC_NPROCESSORS_ONLN) ? 20000 : 1000;
    const struct row rows[] = {
        { "ex_barrier", ex_barrier, n }, { "ex_barrier_team", ex_barrier_team, n }, { "g1_barrier", g1_barrier, n },
        { "ex_broadcast", ex_broadcast, n }, { "g1_broadcast", g1_broadcast, n },
        { "ex_reduce", ex_reduce, n }, { "ex_reduce_team", ex_reduce_team, n },
    };
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    gex_TM_Split(&team, tm, 0, -(int)gasnet_mynode(), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    MEASURE(rows, 1);
    gex_TM_Destroy(team, NULL, 0);
}

#define ENTRY(index, fn, flags) { index, (gex_AM_Fn_t)fn, flags, 0, NULL, #fn }
int main(int argc, char **argv)
{
    gex_AM_Entry_t handlers[] = {
        ENTRY(SHORT, on_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT),
        ENTRY(MEDIUM, on_medium, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM),
        ENTRY(LONG, on_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG),
        ENTRY(PREPARED, on_prepared, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM),
        ENTRY(BACK, on_back, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT),
        ENTRY(BACK_MEDIUM, on_back_medium, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM),
        ENTRY(BACK_LONG, on_back_medium, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG),
        ENTRY(NOTHING, on_nothing, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT),
    };
    must(gex_Client_Init(&client, &ep, &tm, "BENCH", &argc, &argv, GEX_FLAG_USES_GASNET1));
    must(gex_Segment_Attach(&segment, tm, SEGMENT));
    must(gex_EP_RegisterHandlers(ep, handlers, sizeof handlers / sizeof *handlers));
    const char *const what = argc > 1 ? argv[1] : "";
    void *address;
    peer = (gasnet_mynode() + 1) % gasnet_nodes();
    own = gex_Segment_QueryAddr(segment);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, peer, &address, NULL, &(uintptr_t){ 0 }, 0));
    there = address;
    memset(own, 0, SEGMENT);
    memset(pieces, 3, sizeof pieces);
    meet();
    if (strcmp(what, "near") == 0)
        near();
    else if (strcmp(what, "messages") == 0)
        messages(argc > 2 ? strtol(argv[2], NULL, 0) : 10000);
    else if (strcmp(what, "refusal") == 0)
        refusal();
    else if (strcmp(what, "pieces") == 0)
        in_pieces();
    else if (strcmp(what, "atomics") == 0)
        atomics();
    else if (strcmp(what, "teams") == 0)
        teams();
    else
        must(GASNET_ERR_BAD_ARG);
    fflush(stdout);
    meet();
    gasnet_exit(0);
    return 0;
}
