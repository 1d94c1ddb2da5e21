// GASNet-EX: a client starts, its objects answer, handlers are registered bit by bit, GASNet-1's calls are there too.
// mode: seq par parsync
// compiler: gcc clang
// std: c99 gnu11 gnu2x c++11 gnu++20
// run: 1 2 | says passed
// run: 3 | env GASNET_CHECK=1 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 1 | args bad-handle | env GASNET_CHECK=1 | status 134 | says gex_TM_QueryRank: 0x40 is no team
// run: 1 | args no-client | status 134 | says gex_Client_QueryName: the client is GEX_CLIENT_INVALID
// run: 1 | args other-kind | status 134 | says gex_EP_QueryIndex: 0x | says is no endpoint
#include <gasnet_fwd.h>
#include <gasnetex.h>

#include "check.h"

#ifdef __cplusplus
  #define CAST(t) (t)
extern "C" {
#else
  #define CAST(t)
#endif
static void nothing(gex_Token_t token) { (void)token; }
#ifdef __cplusplus
}
#endif

#define REGISTERED (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP)

/* Realm relies on these numbers; Chapel and UPC++ on some. */
#define NUMBER(name, value) CHECK_EQUAL((uintptr_t)(name), (uintptr_t)(value))

int main(int argc, char **argv) {
  static int mark;
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t tm;
  gex_Segment_t segment = GEX_SEGMENT_INVALID;
  OK(gex_Client_Init(&client, &ep, &tm, "EX_OBJECTS", &argc, &argv, GEX_FLAG_USES_GASNET1));
  if (argc > 1 && strcmp(argv[1], "bad-handle") == 0) gex_TM_QueryRank((gex_TM_t)(uintptr_t)0x40);
  if (argc > 1 && strcmp(argv[1], "no-client") == 0) gex_Client_QueryName(GEX_CLIENT_INVALID);
  if (argc > 1 && strcmp(argv[1], "other-kind") == 0) gex_EP_QueryIndex((gex_EP_t)tm);

  CHECK(client != GEX_CLIENT_INVALID && ep != GEX_EP_INVALID && tm != GEX_TM_INVALID);
  CHECK(strcmp(gex_Client_QueryName(client), "EX_OBJECTS") == 0);
  CHECK_EQUAL(gex_Client_QueryFlags(client), GEX_FLAG_USES_GASNET1);
  CHECK_EQUAL(gex_EP_QueryIndex(ep), 0);
  CHECK(gex_EP_QueryClient(ep) == client && gex_TM_QueryClient(tm) == client && gex_TM_QueryEP(tm) == ep);
  CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID);
  CHECK_EQUAL(gex_TM_QueryRank(tm), gex_System_QueryJobRank());
  CHECK_EQUAL(gex_TM_QuerySize(tm), gex_System_QueryJobSize());
  CHECK_EQUAL(gasnet_mynode(), gex_System_QueryJobRank());
  CHECK_EQUAL(gex_EP_QueryFlags(ep) | gex_TM_QueryFlags(tm), 0);
  CHECK(gex_Client_QueryCData(client) == NULL && gex_TM_QueryCData(tm) == NULL);
  gex_EP_SetCData(ep, &mark);
  CHECK(gex_EP_QueryCData(ep) == &mark && gex_TM_QueryCData(tm) == NULL);
  gex_EP_SetCData(ep, NULL);
  CHECK(gex_EP_QueryCData(ep) == NULL);
#if GASNET_SEQ
  CHECK_EQUAL(gex_System_QueryMaxThreads(), 1);
#else
  CHECK(gex_System_QueryMaxThreads() >= 64);
#endif
  CHECK_EQUAL(gex_System_QueryHiddenAMConcurrencyLevel(), GASNET_HIDDEN_AM_CONCURRENCY_LEVEL);

  /* the barrier is there before the segment */
  barrier();
  CHECK_EQUAL(gex_System_GetVerboseErrors(), 1);
  gex_System_SetVerboseErrors(0);
  CHECK_EQUAL(gex_System_GetVerboseErrors(), 0);
  CHECK_EQUAL(gex_Segment_Attach(&segment, tm, GASNET_PAGESIZE), GASNET_OK);
  CHECK(segment != GEX_SEGMENT_INVALID && gex_EP_QuerySegment(ep) == segment);
  CHECK(gex_Segment_QueryClient(segment) == client && gex_Segment_QueryFlags(segment) == 0);
  CHECK_EQUAL(gex_Segment_QuerySize(segment), GASNET_PAGESIZE);
  CHECK(gex_Segment_QueryAddr(segment) == segment_of(gasnet_mynode()));
  CHECK_EQUAL(gex_Segment_Attach(&segment, tm, GASNET_PAGESIZE), GASNET_ERR_NOT_INIT);

  {
    gex_AM_Entry_t first[] = {
      { 0, CAST(gex_AM_Fn_t)nothing, REGISTERED, 0, NULL, NULL },
      { 255, CAST(gex_AM_Fn_t)nothing, REGISTERED, 0, NULL, "fixed" },
      { 0, CAST(gex_AM_Fn_t)nothing, REGISTERED, 0, NULL, NULL },
    };
    gex_AM_Entry_t second[] = { { 0, CAST(gex_AM_Fn_t)nothing, REGISTERED, 0, NULL, NULL } };
    gex_AM_Entry_t taken[] = { { 254, CAST(gex_AM_Fn_t)nothing, REGISTERED, 0, NULL, NULL } };
    OK(gex_EP_RegisterHandlers(ep, first, 3));
    OK(gex_EP_RegisterHandlers(ep, second, 1));
    OK(gex_EP_RegisterHandlers(ep, NULL, 0));
    CHECK(first[0].gex_index == 254 && first[1].gex_index == 255 && first[2].gex_index == 253);
    CHECK_EQUAL(second[0].gex_index, 252);
    if (getenv("GASNET_CHECK") == NULL)
      CHECK_EQUAL(gex_EP_RegisterHandlers(ep, taken, 1), GASNET_ERR_BAD_ARG);
  }

  NUMBER(GEX_EVENT_INVALID, 0);
  NUMBER(GEX_EVENT_NO_OP, 1);
  NUMBER(GEX_EVENT_NOW, 1);
  NUMBER(GEX_EVENT_DEFER, 2);
  NUMBER(GEX_EVENT_GROUP, 3);
  NUMBER(GEX_MK_HOST, 1);
  NUMBER(GEX_AM_SRCDESC_NO_OP, 0);
  NUMBER(GEX_DT_U64, 1 << 3);
  NUMBER(GEX_OP_ADD, 1 << 3);
  NUMBER(GEX_EP_CAPABILITY_RMA, 1);
  NUMBER(GEX_FLAG_IMMEDIATE, 1);
  NUMBER(GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 1 << 11);
  NUMBER(GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1 << 12);
  NUMBER(GASNET_ERR_NOT_READY, 10004);
  NUMBER(GEX_FLAG_AD_REL, GASNETT_ATOMIC_REL);
  NUMBER(GEX_FLAG_AD_ACQ, GASNETT_ATOMIC_ACQ);
  NUMBER(GEX_OP_TO_FETCHING(GEX_OP_SET), GEX_OP_SWAP);
  NUMBER(GEX_OP_TO_NONFETCHING(GEX_OP_FCAS), GEX_OP_CAS);
  NUMBER(sizeof(gex_Flags_t), 4);
  NUMBER(sizeof(gex_EP_Index_t), 2);
  NUMBER(sizeof(gex_TM_t), sizeof(void *));
  NUMBER(GASNET_RELEASE_VERSION_MAJOR, 2025);
  finish();
  return 0;
}
