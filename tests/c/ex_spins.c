// Each rank spins on compare-and-swap of a word of rank 0, which rank 0 does at once: it serves others still. It also spins on tests of
// operations with others, which no other call completes.
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
#include <gasnetex.h>
#include <gasnet_ratomic.h>

#include <stdio.h>

/* With several threads a test does not poll: another thread may. */
#ifdef GASNET_PAR
  #define AGAIN gasnet_AMPoll()
#else
  #define AGAIN ((void)0)
#endif

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t all;
  gex_Segment_t segment;
  gex_AD_t ad;
  void *word, *peer;
  int32_t me, size, round, found = 0;
  if (gex_Client_Init(&client, &ep, &all, "spins", &argc, &argv, 0) != GASNET_OK) return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) return 1;
  me = (int32_t)gex_TM_QueryRank(all);
  size = (int32_t)gex_TM_QuerySize(all);
  gex_AD_Create(&ad, all, GEX_DT_I32, GEX_OP_FCAS, 0);
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, 0, &word, NULL, NULL, 0));
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, (me + 1) % size, &peer, NULL, NULL, 0));
  /* rank 1 is first, rank 0 last */
  if (me == 0) *(int32_t *)word = 1;
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  for (round = 0; round < 20; round++) {
    int32_t turn = round * size + (me == 0 ? size : me);
    do {
      gex_Event_t event = gex_AD_OpNB_I32(ad, &found, 0, word, GEX_OP_FCAS, turn, turn + 1, 0);
      if (round % 2 == 0) gex_Event_Wait(event);
      else while (gex_Event_Test(event) != GASNET_OK) AGAIN;
    } while (found != turn);
  }
  for (round = 0; round < 20; round++) {
    gex_Event_t events[2];
    events[0] = gex_RMA_GetNB(all, &found, (me + 1) % size, peer, sizeof found, 0);
    events[1] = gex_Coll_BarrierNB(all, 0);
    if (round % 2 == 0) while (gex_Event_TestAll(events, 2, 0) != GASNET_OK) AGAIN;
    else while (events[0] != GEX_EVENT_INVALID || events[1] != GEX_EVENT_INVALID) if (gex_Event_TestSome(events, 2, 0) != GASNET_OK) AGAIN;
    gex_RMA_GetNBI(all, &found, (me + 1) % size, peer, sizeof found, 0);
    while (gex_NBI_Test(GEX_EC_ALL, 0) != GASNET_OK) AGAIN;
  }
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  if (me == 0) printf("passed\n");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(0);
  return 0;
}
