/* Two ranks pass a number on by puts, and wait for it in a loop over their own memory, which calls nothing. Over udp nothing but the
   conduit's own thread takes what arrives meanwhile. */
// mode: seq par
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | within 25 | says passed
#include <gasnetex.h>

#include <stdio.h>

/* At half a second each these would take 250 s. */
#define HOPS 500

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t all;
  gex_Segment_t segment;
  void *own, *peer;
  int me, hop;
  if (gex_Client_Init(&client, &ep, &all, "hops", &argc, &argv, 0) != GASNET_OK) return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) return 1;
  me = (int)gex_TM_QueryRank(all);
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, me, &own, NULL, NULL, 0));
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, !me, &peer, NULL, NULL, 0));
  *(int *)own = 0;
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  for (hop = 1; hop <= HOPS; hop++) {
    if (me == hop % 2) gex_RMA_PutBlocking(all, !me, peer, &hop, sizeof hop, 0);
    else while (*(volatile int *)own < hop) {}
  }
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  if (me == 0) printf("passed\n");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(0);
  return 0;
}
