// GASNet-EX with GASNET_SEGMENT_EVERYTHING: every form of access reaches memory that no segment was made of.
// mode: seq par
// flags: -DGASNET_SEGMENT_EVERYTHING
// run: 1 2 3 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 2 | env GASNET_CONDUIT=netvm | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
// run: 2 | env GASNET_CONDUIT=smp | args nowhere | status 1 | says there is no such memory there
#include <gasnetex.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnet_coll.h>

#include "check.h"

#define BYTES 300000
#define LONGEST 150000 /* more than a medium message holds */

enum { WHERE = 200, HERE, ARRIVED, BACK };

static unsigned char target[BYTES], source[BYTES], back[BYTES];
static uint64_t word;
static struct places { unsigned char *bytes; uint64_t *word; } ours, theirs;
static volatile int known, arrived, returned;

static void where(gex_Token_t token) { gex_AM_ReplyMedium0(token, HERE, &ours, sizeof(ours), GEX_EVENT_NOW, 0); }
static void here(gex_Token_t token, void *payload, size_t n) {
  (void)token;
  CHECK_EQUAL(n, sizeof(theirs));
  memcpy(&theirs, payload, n);
  known = 1;
}
static void long_arrived(gex_Token_t token, void *payload, size_t n, gex_AM_Arg_t lo, gex_AM_Arg_t hi) {
  unsigned char *to = (unsigned char *)((uintptr_t)(uint32_t)lo | (uintptr_t)(uint32_t)hi << 32);
  CHECK(payload == target + 5 && n == LONGEST && target[5] == 5 && target[4 + LONGEST] == (unsigned char)(4 + LONGEST));
  arrived++;
  gex_AM_ReplyLong0(token, BACK, target + 5, n, to, GEX_EVENT_NOW, 0);
}
static void long_back(gex_Token_t token, void *payload, size_t n) {
  (void)token;
  CHECK(payload == back + 7 && n == LONGEST && memcmp(back + 7, source + 5, n) == 0);
  returned++;
}

int main(int argc, char **argv) {
  gex_AM_Entry_t table[] = {
    { WHERE, (gex_AM_Fn_t)where, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "where" },
    { HERE, (gex_AM_Fn_t)here, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 0, NULL, "here" },
    { ARRIVED, (gex_AM_Fn_t)long_arrived, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 2, NULL, "arrived" },
    { BACK, (gex_AM_Fn_t)long_back, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, "back" },
  };
  const ptrdiff_t strides[] = { 16 };
  const size_t counts[] = { 1000 };
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t tm;
  gex_Event_t leaf, event;
  gex_AD_t ad;
  uint64_t old = 7, sum = 0;
  void *owner = &ep, *local = &ep;
  uintptr_t size = 0;
  gex_Rank_t peer, ranks;
  size_t i;
  OK(gex_Client_Init(&client, &ep, &tm, "everything", &argc, &argv, 0));
  OK(gex_EP_RegisterHandlers(ep, table, 4));
  ranks = gex_TM_QuerySize(tm);
  peer = (gex_TM_QueryRank(tm) + 1) % ranks;
  ours.bytes = target;
  ours.word = &word;
  for (i = 0; i < BYTES; i++) source[i] = (unsigned char)i;
  gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
  gex_AM_RequestShort0(tm, peer, WHERE, 0);
  GASNET_BLOCKUNTIL(known);
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, peer, &owner, &local, &size, 0));
  CHECK(owner == NULL && local == NULL && size == (uintptr_t)-1);
  if (argc > 1) gex_RMA_PutBlocking(tm, peer, (void *)(uintptr_t)64, source, 8, 0);

  event = gex_RMA_PutNB(tm, peer, theirs.bytes, source, BYTES, &leaf, 0);
  gex_Event_Wait(leaf);
  gex_Event_Wait(event);
  gex_Event_Wait(gex_RMA_GetNB(tm, back, peer, theirs.bytes, BYTES, 0));
  CHECK(memcmp(back, source, BYTES) == 0);
  gex_RMA_PutNBI(tm, peer, theirs.bytes + 3, source, BYTES - 3, GEX_EVENT_DEFER, 0);
  gex_NBI_Wait(GEX_EC_PUT, 0);
  gex_NBI_BeginAccessRegion(0);
  gex_RMA_GetNBI(tm, back, peer, theirs.bytes + 3, BYTES - 3, 0);
  gex_Event_Wait(gex_NBI_EndAccessRegion(0));
  CHECK(memcmp(back, source, BYTES - 3) == 0);

  /* every other run of 8 bytes */
  gex_Event_Wait(gex_VIS_StridedPutNB(tm, peer, theirs.bytes, strides, source, strides, 8, counts, 1, 0));
  memset(back, 0, sizeof(back));
  gex_Event_Wait(gex_VIS_StridedGetNB(tm, back, strides, peer, theirs.bytes, strides, 8, counts, 1, 0));
  for (i = 0; i < 1000 * 16; i++) CHECK(back[i] == (i % 16 < 8 ? (unsigned char)i : 0));
  gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));

  CHECK(gex_AM_MaxRequestLong(tm, peer, GEX_EVENT_NOW, 0, 2) >= LONGEST);
  gex_AM_RequestLong2(tm, peer, ARRIVED, source + 5, LONGEST, theirs.bytes + 5, GEX_EVENT_NOW, 0,
                      (gex_AM_Arg_t)(uintptr_t)(back + 7), (gex_AM_Arg_t)((uintptr_t)(back + 7) >> 32));
  GASNET_BLOCKUNTIL(arrived == 1 && returned == 1);

  gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, 0);
  for (i = 0; i < 100; i++) {
    gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, peer, theirs.word, GEX_OP_FADD, 3, 0, 0));
    CHECK_EQUAL(old, i * 3);
  }
  gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
  CHECK_EQUAL(word, 300);
  gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &sum, &word, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
  CHECK_EQUAL(sum, 300 * ranks);
  gex_AD_Destroy(ad);
  finish();
}
