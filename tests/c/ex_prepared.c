// GASNet-EX: messages whose payload is made in a buffer that client and library agree on; committed, cancelled, refused.
// mode: seq par
// compiler: gcc clang
// std: c99 gnu11 c++11 gnu++20
// run: 1 2 | says passed
// run: 3 | env GASNET_CHECK=1 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 2 | args nested | status 134 | says gex_AM_PrepareRequestMedium: this thread has prepared a message
// run: 2 | args wrong-commit | status 134 | says gex_AM_CommitRequestLong: the message was prepared for another call, gex_AM_CommitRequestMedium
// run: 2 | args twice | status 134 | says gex_AM_CommitRequestMedium: the descriptor does not belong
// run: 2 | args too-much | status 134 | says gex_AM_CommitRequestMedium: 65 bytes and 1 arguments, where 64 bytes
// run: 2 | args other-place | status 134 | says was given when it was prepared
// run: 2 | args poll | env GASNET_CHECK=1 | status 134 | says gasnet_AMPoll was called between preparing a request
// run: 2 | args lost-reply | env GASNET_CHECK=1 | status 134 | says returned with a prepared reply
#include <gasnetex.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MEDIUM = 200, LONG, REPLY_MEDIUM, REPLY_LONG };
#define MOST ((size_t)1 << 17)

static gex_EP_t ep;
static gex_TM_t tm;
static gex_Rank_t peer;
static char *own, *right, *left;
static volatile int answers;
static int lost;

static unsigned char byte_at(size_t i, int round) { return (unsigned char)(i * 13 + (i >> 8) + (size_t)round); }
static void fill(void *buf, size_t n, int round) {
  size_t i;
  for (i = 0; i < n; i++) ((unsigned char *)buf)[i] = byte_at(i, round);
}
static void is_filled(const void *buf, size_t n, int round) {
  size_t i, wrong = 0;
  for (i = 0; i < n; i++) wrong += ((const unsigned char *)buf)[i] != byte_at(i, round);
  CHECK_EQUAL(wrong, 0);
}

static void medium(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t round) {
  gex_AM_SrcDesc_t sd;
  is_filled(buf, n, round);
  CHECK_EQUAL((uintptr_t)buf % 8, 0);
  sd = gex_AM_PrepareReplyMedium(token, NULL, 0, n, NULL, 0, 1);
  if (lost) return;
  if (round % 3 == 0) { /* another reply may be sent then */
    CHECK_EQUAL(gex_AM_CancelReplyMedium(sd, 0), 0);
    sd = gex_AM_PrepareReplyMedium(token, NULL, n, n + 10, NULL, 0, 1);
  }
  CHECK(gex_AM_SrcDescSize(sd) >= n);
  fill(gex_AM_SrcDescAddr(sd), n, round + 1);
  gex_AM_CommitReplyMedium1(sd, REPLY_MEDIUM, n, round + 1);
}
static void long_one(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t round) {
  gex_AM_SrcDesc_t sd;
  is_filled(buf, n, round);
  CHECK((char *)buf == own + 16);
  sd = gex_AM_PrepareReplyLong(token, NULL, n, n, left + MOST + 64, NULL, 0, 1);
  fill(gex_AM_SrcDescAddr(sd), n, round + 1);
  CHECK_EQUAL(gex_AM_CommitReplyLong_v2(sd, REPLY_LONG, n, left + MOST + 64, 0, round + 1), 0);
}
static void reply_medium(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t round) {
  (void)token;
  is_filled(buf, n, round);
  answers = answers + 1;
}
static void reply_long(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t round) {
  (void)token;
  is_filled(buf, n, round);
  CHECK((char *)buf == own + MOST + 64);
  answers = answers + 1;
}
#ifdef __cplusplus
}
#endif

static void answered(void) {
  static int expected;
  expected++;
  GASNET_BLOCKUNTIL(answers == expected);
}

#define ENTRY(index, fn, flags) { (gex_AM_Index_t)(index), (gex_AM_Fn_t)(fn), (flags), 1, NULL, NULL }

static void mistakes(const char *what) {
  char buf[64];
  gex_AM_SrcDesc_t sd;
  if (strcmp(what, "lost-reply") == 0) {
    lost = 1;
    barrier();
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, 0, 0, NULL, 0, 1);
    gex_AM_CommitRequestMedium1(sd, MEDIUM, 0, 0);
    GASNET_BLOCKUNTIL(0);
  }
  if (strcmp(what, "other-place") == 0) {
    sd = gex_AM_PrepareRequestLong(tm, peer, NULL, 8, 8, right, NULL, 0, 1);
    gex_AM_CommitRequestLong1(sd, LONG, 8, right + 8, 0);
  }
  sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, 64, 64, NULL, 0, 1);
  if (strcmp(what, "nested") == 0) gex_AM_PrepareRequestMedium(tm, peer, buf, 1, 64, GEX_EVENT_NOW, 0, 1);
  if (strcmp(what, "wrong-commit") == 0) gex_AM_CommitRequestLong1(sd, LONG, 0, right, 0);
  if (strcmp(what, "too-much") == 0) gex_AM_CommitRequestMedium1(sd, MEDIUM, 65, 0);
  if (strcmp(what, "poll") == 0) gasnet_AMPoll();
  fill(gex_AM_SrcDescAddr(sd), 64, 1);
  gex_AM_CommitRequestMedium1(sd, MEDIUM, 64, 1);
  if (strcmp(what, "twice") == 0) gex_AM_CommitRequestMedium1(sd, MEDIUM, 64, 1);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = { 0, 1, 7, 64, 65, 100, 4096, 20000, 65536 };
  static char mine[1 << 17];
  gex_AM_Entry_t entries[] = {
    ENTRY(MEDIUM, medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST), ENTRY(LONG, long_one, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST),
    ENTRY(REPLY_MEDIUM, reply_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY),
    ENTRY(REPLY_LONG, reply_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY),
  };
  gex_Client_t client;
  gex_Segment_t segment;
  gex_AM_SrcDesc_t sd;
  int k, round = 0;
  OK(gex_Client_Init(&client, &ep, &tm, "EX_PREPARED", &argc, &argv, 0));
  OK(gex_EP_RegisterHandlers(ep, entries, 4));
  OK(gex_Segment_Attach(&segment, tm, 4 * MOST));
  own = (char *)gex_Segment_QueryAddr(segment);
  peer = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
  right = segment_of(peer);
  left = segment_of((gex_TM_QueryRank(tm) + gex_TM_QuerySize(tm) - 1) % gex_TM_QuerySize(tm));
  barrier();
  if (argc > 1) mistakes(argv[1]);
  for (k = 0; k < (int)(sizeof(sizes) / sizeof(*sizes)); k++) {
    const size_t n = sizes[k];
    gex_Event_t lc = GEX_EVENT_NO_OP;
    /* the library's buffer, exactly as large, larger, and any size */
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, n, n, NULL, 0, 1);
    CHECK_EQUAL(gex_AM_SrcDescSize(sd), n);
    fill(gex_AM_SrcDescAddr(sd), n, ++round);
    gex_AM_CommitRequestMedium1(sd, MEDIUM, n, round);
    answered();
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, n, (size_t)-1, NULL, 0, 1);
    CHECK(gex_AM_SrcDescSize(sd) >= n && (uintptr_t)gex_AM_SrcDescAddr(sd) % 8 == 0);
    fill(gex_AM_SrcDescAddr(sd), n, ++round);
    CHECK_EQUAL(gex_AM_CommitRequestMedium1_v2(sd, MEDIUM, n, 0, round), 0);
    answered();
    /* cancelled: nothing arrives */
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, 0, n, NULL, 0, 1);
    CHECK_EQUAL(gex_AM_CancelRequestMedium(sd, 0), 0);
    /* perhaps refused */
    do {
      sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, n, n, NULL, GEX_FLAG_IMMEDIATE, 1);
      if (sd == GEX_AM_SRCDESC_NO_OP) gasnet_AMPoll();
    } while (sd == GEX_AM_SRCDESC_NO_OP);
    fill(gex_AM_SrcDescAddr(sd), n, ++round);
    gex_AM_CommitRequestMedium(sd, MEDIUM, n, round);
    answered();
    /* the client's buffer */
    fill(mine, n, ++round);
    sd = gex_AM_PrepareRequestMedium(tm, peer, mine, n, n, &lc, 0, 1);
    CHECK(gex_AM_SrcDescAddr(sd) == (void *)mine && gex_AM_SrcDescSize(sd) == n);
    while (gex_AM_CommitRequestMedium_v2(sd, MEDIUM, n, GEX_FLAG_IMMEDIATE, round)) { }
    gex_Event_Wait(lc);
    memset(mine, 0, n);
    answered();
  }
  for (k = 0; k < (int)(sizeof(sizes) / sizeof(*sizes)); k++) {
    const size_t n = 2 * sizes[k];
    sd = gex_AM_PrepareRequestLong(tm, peer, NULL, 0, n, right + 16, NULL, 0, 1);
    CHECK_EQUAL(gex_AM_SrcDescSize(sd), n);
    fill(gex_AM_SrcDescAddr(sd), n, ++round);
    gex_AM_CommitRequestLong1(sd, LONG, n, right + 16, round);
    answered();
    fill(mine, n, ++round);
    sd = gex_AM_PrepareRequestLong(tm, peer, mine, n, n, NULL, GEX_EVENT_NOW, 0, 1);
    gex_AM_CommitRequestLong(sd, LONG, n, right + 16, round);
    memset(mine, 0, n);
    answered();
    sd = gex_AM_PrepareRequestLong(tm, peer, NULL, 0, n, NULL, NULL, 0, 1);
    CHECK_EQUAL(gex_AM_CancelRequestLong(sd, 0), 0);
  }
  finish();
  return 0;
}
