// GASNet-EX: put and get of every form, events and their leaves, lists of events, implicit operations, access regions.
// mode: seq par
// compiler: gcc clang
// std: c99 gnu11 gnu2x c++11 gnu++20
// run: 1 2 | says passed
// run: 3 | env GASNET_CHECK=1 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 1 | args group | env GASNET_CHECK=1 | status 134 | says gex_RMA_PutNB: lc_opt is GEX_EVENT_GROUP
// run: 1 | args leaf | env GASNET_CHECK=1 | status 134 | says gex_RMA_PutNBI: lc_opt is a pointer to an event
// run: 1 | args no-op | status 134 | says gex_Event_Wait: the event is GEX_EVENT_NO_OP
// run: 1 | args category | status 134 | says gex_Event_QueryLeaf: events have a leaf of category GEX_EC_LC only
// run: 1 | args no-rank | env GASNET_CHECK=1 | status 134 | says gex_RMA_PutBlocking: there is no rank 9
// run: 1 | args outside | env GASNET_CHECK=1 | status 1 | says outside the segment of rank 0
// run: 1 | args region | status 1 | says access regions do not nest
#include <gasnetex.h>

#include "check.h"

#define BIG ((size_t)1 << 20)

static gex_TM_t tm;
static gex_Rank_t peer;
static char *there;
static unsigned char *source, *back;

static void fill(size_t n, int round) {
  size_t i;
  for (i = 0; i < n; i++) source[i] = (unsigned char)(i * 5 + (i >> 9) + (size_t)round);
}
/* What lies at the peer is what was filled in for this round. */
static void arrived(size_t n, int round) {
  fill(n, round);
  memset(back, 0, n);
  CHECK_EQUAL(gex_RMA_GetBlocking(tm, back, peer, there, n, 0), 0);
  CHECK(memcmp(source, back, n) == 0);
}

static void mistakes(const char *what) {
  gex_Event_t lc;
  if (strcmp(what, "group") == 0) gex_RMA_PutNB(tm, peer, there, source, 8, GEX_EVENT_GROUP, 0);
  if (strcmp(what, "leaf") == 0) gex_RMA_PutNBI(tm, peer, there, source, 8, &lc, 0);
  if (strcmp(what, "no-op") == 0) gex_Event_Wait(GEX_EVENT_NO_OP);
  if (strcmp(what, "category") == 0) gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_GET);
  if (strcmp(what, "no-rank") == 0) gex_RMA_PutBlocking(tm, 9, there, source, 8, 0);
  if (strcmp(what, "outside") == 0) gex_RMA_PutBlocking(tm, peer, there - 8, source, 8, 0);
  if (strcmp(what, "region") == 0) {
    gex_NBI_BeginAccessRegion(0);
    gex_NBI_BeginAccessRegion(0);
  }
}

static void all_sizes(void) {
  static const size_t sizes[] = { 0, 1, 2, 3, 4, 8, 9, 100, 4096, 70000, (size_t)1 << 20 };
  const gex_Flags_t immediate = GEX_FLAG_IMMEDIATE;
  gex_Event_t events[4], leaf, root;
  int k, round = 0;
  for (k = 0; k < (int)(sizeof(sizes) / sizeof(*sizes)); k++) {
    const size_t n = sizes[k];
    fill(n, ++round);
    CHECK_EQUAL(gex_RMA_PutBlocking(tm, peer, there, source, n, 0), 0);
    arrived(n, round);
    fill(n, ++round);
    while (gex_RMA_PutBlocking(tm, peer, there, source, n, immediate)) gasnet_AMPoll();
    arrived(n, round);
    /* NOW: the source is free on return */
    fill(n, ++round);
    root = gex_RMA_PutNB(tm, peer, there, source, n, GEX_EVENT_NOW, 0);
    memset(source, 0, n);
    gex_Event_Wait(root);
    arrived(n, round);
    fill(n, ++round);
    gex_Event_Wait(gex_RMA_PutNB(tm, peer, there, source, n, GEX_EVENT_DEFER, 0));
    arrived(n, round);
    /* a leaf */
    fill(n, ++round);
    root = gex_RMA_PutNB(tm, peer, there, source, n, &leaf, 0);
    CHECK(leaf == gex_Event_QueryLeaf(root, GEX_EC_LC) || gex_Event_Test(leaf) == GASNET_OK);
    gex_Event_Wait(leaf);
    memset(source, 0, n);
    gex_Event_Wait(root);
    arrived(n, round);
    /* root and leaf in one list, with holes */
    fill(n, ++round);
    events[0] = GEX_EVENT_INVALID;
    events[2] = gex_RMA_PutNB(tm, peer, there, source, n, &events[1], 0);
    events[3] = GEX_EVENT_INVALID;
    gex_Event_WaitSome(events, 4, 0);
    gex_Event_WaitAll(events, 4, 0);
    CHECK(events[1] == GEX_EVENT_INVALID && events[2] == GEX_EVENT_INVALID);
    arrived(n, round);
    do {
      fill(n, round + 1);
      root = gex_RMA_PutNB(tm, peer, there, source, n, &leaf, immediate);
      if (root == GEX_EVENT_NO_OP) gasnet_AMPoll();
    } while (root == GEX_EVENT_NO_OP);
    round++;
    while (gex_Event_Test(root) == GASNET_ERR_NOT_READY) gasnet_AMPoll();
    arrived(n, round);
    /* implicit */
    fill(n, ++round);
    CHECK_EQUAL(gex_RMA_PutNBI(tm, peer, there, source, n, GEX_EVENT_GROUP, 0), 0);
    gex_NBI_Wait(GEX_EC_LC, 0);
    memset(source, 0, n);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    arrived(n, round);
    memset(back, 0, n);
    CHECK_EQUAL(gex_RMA_GetNBI(tm, back, peer, there, n, 0), 0);
    while (gex_NBI_Test(GEX_EC_GET, 0)) gasnet_AMPoll();
    fill(n, round);
    CHECK(memcmp(source, back, n) == 0);
    memset(back, 0, n);
    events[0] = gex_RMA_GetNB(tm, back, peer, there, n, 0);
    while (gex_Event_TestAll(events, 1, 0)) gasnet_AMPoll();
    CHECK(memcmp(source, back, n) == 0 && events[0] == GEX_EVENT_INVALID);
    /* a region */
    fill(n, ++round);
    gex_NBI_BeginAccessRegion(0);
    gex_RMA_PutNBI(tm, peer, there, source, n, GEX_EVENT_GROUP, 0);
    root = gex_NBI_EndAccessRegion(0);
    gex_Event_Wait(gex_Event_QueryLeaf(root, GEX_EC_LC));
    memset(source, 0, n);
    gex_Event_Wait(root);
    arrived(n, round);
  }
}

static void values(void) {
  const gex_RMA_Value_t value = ((gex_RMA_Value_t)0x01020304 << 32) | 0x05060708;
  size_t n;
  for (n = 1; n <= 8; n++) {
    const gex_RMA_Value_t expected = n == 8 ? value : value & (((gex_RMA_Value_t)1 << (8 * n)) - 1);
    CHECK_EQUAL(gex_RMA_PutBlockingVal(tm, peer, there, 0, 8, 0), 0);
    CHECK_EQUAL(gex_RMA_PutBlockingVal(tm, peer, there, value, n, 0), 0);
    CHECK(gex_RMA_GetBlockingVal(tm, peer, there, n, 0) == expected);
    gex_Event_Wait(gex_RMA_PutNBVal(tm, peer, there + 8, value, n, 0));
    CHECK(gex_RMA_GetBlockingVal(tm, peer, there + 8, n, 0) == expected);
    CHECK_EQUAL(gex_RMA_PutNBIVal(tm, peer, there + 16, value, n, 0), 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    CHECK(gex_RMA_GetBlockingVal(tm, peer, there + 16, n, 0) == expected);
  }
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  OK(gex_Client_Init(&client, &ep, &tm, "EX_RMA", &argc, &argv, 0));
  OK(gex_Segment_Attach(&segment, tm, 2 * BIG));
  source = (unsigned char *)malloc(BIG);
  back = (unsigned char *)malloc(BIG);
  peer = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
  there = segment_of(peer);
  barrier();
  if (argc > 1) mistakes(argv[1]);
  CHECK_EQUAL(gex_Event_TestSome(NULL, 0, 0), GASNET_OK);
  CHECK_EQUAL(gex_Event_Test(GEX_EVENT_INVALID), GASNET_OK);
  CHECK_EQUAL(gex_NBI_Test(GEX_EC_ALL, 0), GASNET_OK);
  all_sizes();
  values();
  /* sizes of nothing need no address */
  CHECK_EQUAL(gex_RMA_PutBlocking(tm, peer, NULL, NULL, 0, 0), 0);
  CHECK_EQUAL(gex_RMA_GetBlocking(tm, NULL, peer, NULL, 0, 0), 0);
  barrier();
  finish();
  return 0;
}
