// GASNet-EX: requests and replies of every kind with every number of arguments, in fixed and variadic forms; local completion; limits; tokens.
// mode: seq par
// compiler: gcc clang
// std: c99 gnu11 gnu2x c++11 gnu++20
// run: 1 2 | says passed
// run: 3 | env GASNET_CHECK=1 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 2 | args defer | status 134 | says gex_AM_RequestMedium: lc_opt is GEX_EVENT_DEFER
// run: 2 | args reply-group | status 134 | says gex_AM_ReplyMedium: lc_opt is GEX_EVENT_GROUP
// run: 2 | args reply-twice | status 134 | says gex_AM_ReplyShort: request handler 128 has replied
// run: 2 | args no-rank | status 134 | says gex_AM_RequestShort: there is no rank 77
// run: 2 | args wrong-count | env GASNET_CHECK=1 | status 134 | says registered with 3
// run: 2 | args wrong-kind | env GASNET_CHECK=1 | status 134 | says which was registered with flags
#include <gasnetex.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLEN 100
/* indices: requests of n arguments at SHORTS + n and so on, replies one table later */
enum { SHORTS = 128, MEDIUMS = 145, LONGS = 162, REPLY_SHORT = 180, REPLY_MEDIUM, REPLY_LONG, MISTAKES };

static gex_EP_t ep;
static gex_TM_t tm;
static gex_Rank_t peer;
static char *peer_segment, *own_segment;
static unsigned char data[PLEN];
static volatile int requests, replies;
static int mistake;

#define LIST0
#define LIST1 , gex_AM_Arg_t a0
#define LIST2 LIST1, gex_AM_Arg_t a1
#define LIST3 LIST2, gex_AM_Arg_t a2
#define LIST4 LIST3, gex_AM_Arg_t a3
#define LIST5 LIST4, gex_AM_Arg_t a4
#define LIST6 LIST5, gex_AM_Arg_t a5
#define LIST7 LIST6, gex_AM_Arg_t a6
#define LIST8 LIST7, gex_AM_Arg_t a7
#define LIST9 LIST8, gex_AM_Arg_t a8
#define LIST10 LIST9, gex_AM_Arg_t a9
#define LIST11 LIST10, gex_AM_Arg_t a10
#define LIST12 LIST11, gex_AM_Arg_t a11
#define LIST13 LIST12, gex_AM_Arg_t a12
#define LIST14 LIST13, gex_AM_Arg_t a13
#define LIST15 LIST14, gex_AM_Arg_t a14
#define LIST16 LIST15, gex_AM_Arg_t a15
#define SUM0 0
#define SUM1 a0 * 1
#define SUM2 SUM1 + a1 * 2
#define SUM3 SUM2 + a2 * 3
#define SUM4 SUM3 + a3 * 4
#define SUM5 SUM4 + a4 * 5
#define SUM6 SUM5 + a5 * 6
#define SUM7 SUM6 + a6 * 7
#define SUM8 SUM7 + a7 * 8
#define SUM9 SUM8 + a8 * 9
#define SUM10 SUM9 + a9 * 10
#define SUM11 SUM10 + a10 * 11
#define SUM12 SUM11 + a11 * 12
#define SUM13 SUM12 + a12 * 13
#define SUM14 SUM13 + a13 * 14
#define SUM15 SUM14 + a14 * 15
#define SUM16 SUM15 + a15 * 16
#define SEND0
#define SEND1 , -1
#define SEND2 SEND1, -2
#define SEND3 SEND2, (-3)
#define SEND4 SEND3, -4
#define SEND5 SEND4, -5
#define SEND6 SEND5, -6
#define SEND7 SEND6, -7
#define SEND8 SEND7, -8
#define SEND9 SEND8, -9
#define SEND10 SEND9, -10
#define SEND11 SEND10, -11
#define SEND12 SEND11, -12
#define SEND13 SEND12, -13
#define SEND14 SEND13, -14
#define SEND15 SEND14, -15
#define SEND16 SEND15, -16
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* -(1 + 4 + 9 + ...) */
static int sum_of(int n) { return -n * (n + 1) * (2 * n + 1) / 6; }

static void token_says(gex_Token_t token, int index, int is_req, int is_long) {
  gex_Token_Info_t info;
  const gex_TI_t told = gex_Token_Info(token, &info, GEX_TI_ALL);
  CHECK_EQUAL(told, GEX_TI_ALL);
  CHECK(info.gex_ep == ep && info.gex_entry->gex_index == index && info.gex_is_req == is_req);
  CHECK(info.gex_is_long == is_long && strcmp(info.gex_entry->gex_name, "named") == 0);
  CHECK_EQUAL(info.gex_srcrank, is_req ? (gex_System_QueryJobRank() + gex_System_QueryJobSize() - 1) % gex_System_QueryJobSize() : peer);
}

#define HANDLERS(n)                                                                       \
  static void short_##n(gex_Token_t token LIST##n) {                                      \
    requests = requests + 1;                                                                         \
    CHECK_EQUAL(SUM##n, sum_of(n));                                                       \
    token_says(token, SHORTS + n, 1, 0);                                                  \
    CHECK_EQUAL(gex_AM_ReplyShort1(token, REPLY_SHORT, 0, n), 0);                         \
    if (mistake == 3) gex_AM_ReplyShort1(token, REPLY_SHORT, 0, n);                       \
  }                                                                                       \
  static void medium_##n(gex_Token_t token, void *buf, size_t nbytes LIST##n) {           \
    requests = requests + 1;                                                                         \
    CHECK(nbytes == PLEN && memcmp(buf, data, PLEN) == 0 && (uintptr_t)buf % 8 == 0);     \
    CHECK_EQUAL(SUM##n, sum_of(n));                                                       \
    token_says(token, MEDIUMS + n, 1, 0);                                                 \
    CHECK(gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBReplyMedium()); \
    CHECK_EQUAL(gex_AM_ReplyMedium(token, REPLY_MEDIUM, buf, nbytes,                      \
                                   mistake == 2 ? GEX_EVENT_GROUP : GEX_EVENT_NOW, 0, n, -1), 0); \
  }                                                                                       \
  static void long_##n(gex_Token_t token, void *buf, size_t nbytes LIST##n) {             \
    gex_Event_t lc = GEX_EVENT_NO_OP;                                                     \
    requests = requests + 1;                                                                         \
    CHECK(nbytes == PLEN && memcmp(buf, data, PLEN) == 0 && (char *)buf == own_segment + 8); \
    CHECK_EQUAL(SUM##n, sum_of(n));                                                       \
    token_says(token, LONGS + n, 1, 1);                                                   \
    CHECK_EQUAL(gex_AM_ReplyLong2(token, REPLY_LONG, data, nbytes, requester_segment + 4096, &lc, 0, n, -1), 0); \
    CHECK(lc == GEX_EVENT_INVALID);                                                       \
  }
static char *requester_segment;
EACH(HANDLERS)

static void reply_short(gex_Token_t token, gex_AM_Arg_t n) {
  token_says(token, REPLY_SHORT, 0, 0);
  CHECK(n >= 0 && n <= 16);
  replies = replies + 1;
}
static void reply_medium(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t n, gex_AM_Arg_t minus) {
  token_says(token, REPLY_MEDIUM, 0, 0);
  CHECK(nbytes == PLEN && memcmp(buf, data, PLEN) == 0 && n >= 0 && minus == -1);
  replies = replies + 1;
}
static void reply_long(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t n, gex_AM_Arg_t minus) {
  token_says(token, REPLY_LONG, 0, 1);
  CHECK(nbytes == PLEN && (char *)buf == own_segment + 4096 && memcmp(buf, data, PLEN) == 0 && n >= 0 && minus == -1);
  replies = replies + 1;
}
static void three(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c) {
  (void)token;
  CHECK(a == b && b == c);
}
#ifdef __cplusplus
}
#endif

static void *segment_at(gex_Rank_t rank) { return segment_of(rank); }

static void sent(int immediate_result) {
  static int expected;
  CHECK_EQUAL(immediate_result, 0);
  expected++;
  GASNET_BLOCKUNTIL(replies == expected);
}

#define ENTRY(index, fn, flags, n) { (gex_AM_Index_t)(index), (gex_AM_Fn_t)(fn), (flags), (n), NULL, "named" },
#define SHORT_ENTRY(n) ENTRY(SHORTS + n, short_##n, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, n)
#define MEDIUM_ENTRY(n) ENTRY(MEDIUMS + n, medium_##n, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, n)
#define LONG_ENTRY(n) ENTRY(LONGS + n, long_##n, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, n)

/* what arrives is checked by the handlers; the source is written over as soon as local completion says so */
#define ROUND(n)                                                                                   \
  {                                                                                                \
    gex_Event_t lc = GEX_EVENT_NO_OP;                                                              \
    unsigned char source[PLEN];                                                                    \
    sent(gex_AM_RequestShort##n(tm, peer, SHORTS + n, 0 SEND##n));                                 \
    sent(gex_AM_RequestShort(tm, peer, SHORTS + n, 0 SEND##n));                                    \
    memcpy(source, data, PLEN);                                                                    \
    CHECK_EQUAL(gex_AM_RequestMedium##n(tm, peer, MEDIUMS + n, source, PLEN, GEX_EVENT_NOW, 0 SEND##n), 0); \
    memset(source, 0, PLEN);                                                                       \
    sent(0);                                                                                       \
    sent(gex_AM_RequestMedium(tm, peer, MEDIUMS + n, data, PLEN, GEX_EVENT_GROUP, 0 SEND##n));     \
    gex_NBI_Wait(GEX_EC_AM, 0);                                                                    \
    memcpy(source, data, PLEN);                                                                    \
    CHECK_EQUAL(gex_AM_RequestLong##n(tm, peer, LONGS + n, source, PLEN, peer_segment + 8, &lc, 0 SEND##n), 0); \
    gex_Event_Wait(lc);                                                                            \
    memset(source, 0, PLEN);                                                                       \
    sent(0);                                                                                       \
    sent(gex_AM_RequestLong(tm, peer, LONGS + n, data, PLEN, peer_segment + 8, GEX_EVENT_NOW, 0 SEND##n)); \
    while (gex_AM_RequestShort##n(tm, peer, SHORTS + n, GEX_FLAG_IMMEDIATE SEND##n)) gasnet_AMPoll(); \
    sent(0);                                                                                       \
    barrier();                                                                                     \
  }

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_Segment_t segment;
  gex_AM_Entry_t entries[] = {
    EACH(SHORT_ENTRY) EACH(MEDIUM_ENTRY) EACH(LONG_ENTRY)
    ENTRY(REPLY_SHORT, reply_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1)
    ENTRY(REPLY_MEDIUM, reply_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2)
    ENTRY(REPLY_LONG, reply_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 2)
    ENTRY(MISTAKES, three, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3)
  };
  const char *const what = argc > 1 ? argv[1] : "";
  int i;
  OK(gex_Client_Init(&client, &ep, &tm, "EX_AM", &argc, &argv, 0));
  OK(gex_EP_RegisterHandlers(ep, entries, sizeof(entries) / sizeof(*entries)));
  OK(gex_Segment_Attach(&segment, tm, 16 * GASNET_PAGESIZE));
  peer = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
  own_segment = (char *)gex_Segment_QueryAddr(segment);
  peer_segment = (char *)segment_at(peer);
  requester_segment = (char *)segment_at((gex_TM_QueryRank(tm) + gex_TM_QuerySize(tm) - 1) % gex_TM_QuerySize(tm));
  for (i = 0; i < PLEN; i++) data[i] = (unsigned char)(i * 7 + 1);
  CHECK_EQUAL(gex_AM_MaxArgs(), 16);
  for (i = 0; i <= 16; i++) {
    const unsigned int n = (unsigned int)i;
    CHECK(gex_AM_MaxRequestMedium(tm, peer, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBRequestMedium());
    CHECK(gex_AM_MaxReplyLong(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBReplyLong());
    CHECK(gex_AM_MaxRequestLong(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, n) >= 512);
    CHECK(gex_AM_MaxReplyMedium(tm, peer, GEX_EVENT_NOW, 0, n) == gex_AM_MaxRequestMedium(tm, peer, GEX_EVENT_NOW, 0, n));
  }
  CHECK(gex_AM_LUBRequestMedium() >= 512 && gex_AM_LUBRequestLong() >= 512);
  barrier();
  if (gex_TM_QueryRank(tm) == 0) {
    if (strcmp(what, "defer") == 0) gex_AM_RequestMedium0(tm, peer, MEDIUMS, data, PLEN, GEX_EVENT_DEFER, 0);
    if (strcmp(what, "no-rank") == 0) gex_AM_RequestShort0(tm, 77, SHORTS, 0);
    if (strcmp(what, "wrong-count") == 0) gex_AM_RequestShort2(tm, peer, MISTAKES, 0, 1, 2);
    if (strcmp(what, "wrong-kind") == 0) gex_AM_RequestMedium0(tm, peer, MISTAKES, data, 1, GEX_EVENT_NOW, 0);
  }
  mistake = strcmp(what, "reply-group") == 0 ? 2 : strcmp(what, "reply-twice") == 0 ? 3 : 0;
  if (argc > 1 && mistake == 0) GASNET_BLOCKUNTIL(0);
  EACH(ROUND)
  CHECK_EQUAL(requests, 17 * 7);
  finish();
  return 0;
}
