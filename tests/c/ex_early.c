// GASNet-EX: messages before a segment is attached, to ranks that attach already, and afterwards.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// run: 1 2 4 | says passed
// run: 4 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=smp | says passed
// run: 4 | env GASNET_NEIGHBORHOOD=2 | env GASNET_CONDUIT=smp | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 1 2 4 | env GASNET_CONDUIT=netvm | says passed
// run: 3 | env GASNET_CONDUIT=netvm | env GASNET_PROGRESS_THREAD=1 | says passed
#include <gasnetex.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MEDIUM = 200, SHORT, REPLY_MEDIUM, REPLY_SHORT };

/* More than the rings between two ranks hold. */
#define MESSAGES 40

static gex_TM_t world;
static gex_Rank_t me, size;
static unsigned char *bytes;
static volatile int requests, medium_replies, short_replies;

/* Byte i of a payload that `from` made. */
static unsigned char byte_of(gex_Rank_t from, size_t i) { return (unsigned char)(from * 31 + i * 7 + i / 251); }

static void check_bytes(const void *payload, size_t n, gex_Rank_t from) {
  const unsigned char *p = (const unsigned char *)payload;
  size_t i;
  for (i = 0; i < n && p[i] == byte_of(from, i); i++) continue;
  CHECK_EQUAL(i, n);
}

static gex_Rank_t sender(gex_Token_t token) {
  gex_Token_Info_t info;
  gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  return info.gex_srcrank;
}

static void on_medium(gex_Token_t token, void *payload, size_t n, gex_AM_Arg_t from) {
  CHECK_EQUAL(sender(token), from);
  check_bytes(payload, n, (gex_Rank_t)from);
  requests++;
  gex_AM_ReplyMedium1(token, REPLY_MEDIUM, payload, n, GEX_EVENT_NOW, 0, from);
}

static void on_short(gex_Token_t token, gex_AM_Arg_t from) {
  CHECK_EQUAL(sender(token), from);
  requests++;
  gex_AM_ReplyShort1(token, REPLY_SHORT, 0, from);
}

static void on_reply_medium(gex_Token_t token, void *payload, size_t n, gex_AM_Arg_t from) {
  (void)token;
  CHECK_EQUAL(from, me);
  check_bytes(payload, n, me);
  medium_replies++;
}

static void on_reply_short(gex_Token_t token, gex_AM_Arg_t from) {
  (void)token;
  CHECK_EQUAL(from, me);
  short_replies++;
}

#ifdef __cplusplus
}
#endif

/* Asks every rank, this one among them, and returns when all have answered. */
static void ask_all(void) {
  const size_t most = gex_AM_MaxRequestMedium(world, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 1);
  const size_t largest = gex_AM_MaxReplyMedium(world, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 1);
  const int expected = MESSAGES * (int)size, mediums = medium_replies + expected, shorts = short_replies + expected;
  int k;
  gex_Rank_t to;
  for (k = 0; k < MESSAGES; k++) {
    for (to = 0; to < size; to++) {
      const size_t n = (size_t)k * 8191 % (1 + (most < largest ? most : largest));
      gex_AM_RequestMedium1(world, to, MEDIUM, bytes, n, GEX_EVENT_NOW, 0, (gex_AM_Arg_t)me);
      gex_AM_RequestShort1(world, to, SHORT, 0, (gex_AM_Arg_t)me);
    }
  }
  GASNET_BLOCKUNTIL(medium_replies == mediums && short_replies == shorts);
}

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

int main(int argc, char **argv) {
  gex_AM_Entry_t table[] = {
      {MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 1, NULL, "medium"},
      {SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL, "short"},
      {REPLY_MEDIUM, (gex_AM_Fn_t)on_reply_medium, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 1, NULL, "reply medium"},
      {REPLY_SHORT, (gex_AM_Fn_t)on_reply_short, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 1, NULL, "reply short"},
  };
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  size_t i;
  OK(gex_Client_Init(&client, &ep, &world, "ex_early", &argc, &argv, 0));
  OK(gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof *table));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  bytes = (unsigned char *)malloc(1 << 20);
  for (i = 0; i < 1 << 20; i++) bytes[i] = byte_of(me, i);
  meet();
  ask_all();
  /* Rank 0 attaches at once; the others need its answers before they do. */
  if (me != 0) ask_all();
  OK(gex_Segment_Attach(&segment, world, 1 << 20));
  ask_all();
  meet();
  CHECK_EQUAL(requests, 2 * MESSAGES * (3 * (int)size - 1));
  free(bytes);
  finish();
  return 0;
}
