// GASNet-EX: pairs of endpoints in the place of teams: puts, gets, messages, lists of pieces, to segments of every kind.
// mode: seq par
// std: c99 gnu2x c++11
// run: 1 2 4 | says passed
// run: 3 | args bound | env GASNET_CHECK=1 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | args bound | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 1 | args unknown | status 134 | says gex_RMA_PutBlocking: endpoint 3 of rank 0 has no segment that this process knows of
// run: 2 | args outside | status 134 | says gex_RMA_PutBlocking: the access reaches beyond the region
// run: 2 | args outside-nb | status 1 | says was refused: the access reaches beyond the region
#include <gasnetex.h>
#include <gasnet_vis.h>

#include "check.h"

#ifdef __cplusplus
  #define CAST(t) (t)
extern "C" {
#else
  #define CAST(t)
#endif

#define BYTES 300000
#define ENDPOINTS 3

static gex_Rank_t me, size, right, left;
static gex_TM_t pair;
/* of the endpoint that is the target, here and on the right; of the initiating one, on the left and here */
static char *own_base, *right_base, *left_base, *source_base;
static volatile int pings, pongs;
static char data[200000], back[200000];

#define MARK(buffer, n, k) (((char *)(buffer))[(n) / 2] == (char)((n) / 2 * 7 + (k)))

static void fill(char *to, size_t n, int k) {
  size_t i;
  for (i = 0; i < n; i++) to[i] = (char)(i * 7 + (size_t)k);
}

static void ping(gex_Token_t token, void *buffer, size_t n, gex_AM_Arg_t at) {
  gex_Token_Info_t info;
  CHECK(gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_IS_LONG) && info.gex_srcrank == left && info.gex_is_long);
  CHECK(buffer == own_base + 40000 && (n == 0 || MARK(buffer, n, (int)left)));
  if (at == 77) {
    gex_AM_ReplyLong1(token, 201, buffer, n < 100 ? n : 100, left_base + 230000, GEX_EVENT_NOW, 0, at);
  } else {
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyLong(token, NULL, n < 100 ? n : 100, 100, NULL, NULL, 0, 1);
    memcpy(gex_AM_SrcDescAddr(sd), buffer, n < 100 ? n : 100);
    gex_AM_CommitReplyLong1(sd, 201, n < 100 ? n : 100, left_base + 230000, at);
  }
  pings++;
}
static void pong(gex_Token_t token, void *buffer, size_t n, gex_AM_Arg_t at) {
  (void)token;
  CHECK(buffer == source_base + 230000 && (at == 77 || at == 76));
  CHECK((n < 100 || ((char *)buffer)[9] == (char)(63 + (int)me)));
  pongs++;
}
static void note(gex_Token_t token, gex_AM_Arg_t at) {
  (void)token;
  CHECK(at == 78);
  pings++;
}
#ifdef __cplusplus
}
#endif

static void transfers(void) {
  static const size_t sizes[] = { 0, 1, 8, 900, 70000, 200000 };
  size_t i;
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const size_t n = sizes[i];
    gex_Event_t event, leaf = GEX_EVENT_INVALID;
    fill(data, n, (int)i);
    CHECK(gex_RMA_PutBlocking(pair, right, right_base + 3, data, n, 0) == 0);
    memset(back, 0, n);
    CHECK(gex_RMA_GetBlocking(pair, back, right, right_base + 3, n, 0) == 0);
    CHECK(memcmp(back, data, n) == 0);
    fill(data, n, (int)i + 1);
    event = gex_RMA_PutNB(pair, right, right_base + 3, data, n, &leaf, 0);
    gex_Event_Wait(leaf);
    gex_Event_Wait(event);
    event = gex_RMA_PutNB(pair, right, right_base + 3, data, n, GEX_EVENT_DEFER, 0);
    gex_Event_Wait(event);
    memset(back, 0, n);
    event = gex_RMA_GetNB(pair, back, right, right_base + 3, n, 0);
    gex_Event_Wait(event);
    CHECK(memcmp(back, data, n) == 0);
    fill(data, n, (int)i + 2);
    CHECK(gex_RMA_PutNBI(pair, right, right_base + 3, data, n, GEX_EVENT_NOW, 0) == 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    memset(back, 0, n);
    CHECK(gex_RMA_GetNBI(pair, back, right, right_base + 3, n, 0) == 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    CHECK(memcmp(back, data, n) == 0);
  }
  CHECK(gex_RMA_PutBlockingVal(pair, right, right_base + 9, 0x1234, 2, 0) == 0);
  CHECK_EQUAL(gex_RMA_GetBlockingVal(pair, right, right_base + 9, 2, 0), 0x1234);
  gex_Event_Wait(gex_RMA_PutNBVal(pair, right, right_base + 9, 0x5678, 2, 0));
  CHECK_EQUAL(gex_RMA_GetBlockingVal(pair, right, right_base + 9, 2, 0), 0x5678);
}

static void messages(void) {
  static const size_t sizes[] = { 0, 1, 900, 70000, 150000 };
  size_t i;
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const size_t n = sizes[i];
    gex_AM_SrcDesc_t sd;
    int before;
    barrier();
    before = pongs;
    fill(data, n, (int)me);
    CHECK(n <= gex_AM_MaxRequestLong(pair, right, GEX_EVENT_NOW, 0, 1));
    CHECK(gex_AM_RequestLong1(pair, right, 200, data, n, right_base + 40000, GEX_EVENT_NOW, 0, 77) == 0);
    GASNET_BLOCKUNTIL(pongs > before);
    barrier();
    sd = gex_AM_PrepareRequestLong(pair, right, NULL, n, n, NULL, NULL, 0, 1);
    CHECK(gex_AM_SrcDescSize(sd) >= n);
    fill((char *)gex_AM_SrcDescAddr(sd), n, (int)me);
    gex_AM_CommitRequestLong1(sd, 200, n, right_base + 40000, 76);
    GASNET_BLOCKUNTIL(pongs > before + 1);
    barrier();
  }
  i = (size_t)pings;
  barrier();
  CHECK(gex_AM_RequestShort1(pair, right, 202, 0, 78) == 0);
  GASNET_BLOCKUNTIL((size_t)pings > i);
  barrier();
}

static void pieces(void) {
  void *there[3], *here[3];
  char from[30], to[30];
  gex_Event_t event;
  int i;
  fill(from, 30, (int)me);
  for (i = 0; i < 3; i++) {
    there[i] = right_base + 250000 + 100 * i;
    here[i] = from + 10 * i;
  }
  event = gex_VIS_IndexedPutNB(pair, right, 3, there, 10, 3, here, 10, 0);
  gex_Event_Wait(event);
  for (i = 0; i < 3; i++) here[i] = to + 10 * i;
  memset(to, 0, 30);
  CHECK(gex_VIS_IndexedGetBlocking(pair, 3, here, 10, right, 3, there, 10, 0) == 0);
  CHECK(memcmp(from, to, 30) == 0);
  memset(to, 0, 30);
  CHECK(gex_VIS_IndexedGetNBI(pair, 3, here, 10, right, 3, there, 10, 0) == 0);
  gex_NBI_Wait(GEX_EC_GET, 0);
  CHECK(memcmp(from, to, 30) == 0);
  for (i = 0; i < 3; i++) here[i] = from + 10 * i;
  CHECK(gex_VIS_IndexedPutNBI(pair, right, 3, there, 10, 3, here, 10, 0) == 0);
  gex_NBI_Wait(GEX_EC_PUT, 0);
  barrier();
  CHECK(own_base[250105] == (char)(15 * 7 + (int)left));
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t eps[ENDPOINTS];
  gex_TM_t tm;
  gex_Segment_t segment;
  gex_AM_Entry_t handlers[] = {
    { 200, CAST(gex_AM_Fn_t)ping, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, NULL, NULL },
    { 201, CAST(gex_AM_Fn_t)pong, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 1, NULL, NULL },
    { 202, CAST(gex_AM_Fn_t)note, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, NULL },
  };
  static char memory[2][BYTES + 8];
  const char *what = argc > 1 ? argv[1] : "";
  int i, k;
  OK(gex_Client_Init(&client, &eps[0], &tm, "EX_PAIRS", &argc, &argv, 0));
  OK(gex_EP_RegisterHandlers(eps[0], handlers, 3));
  me = gex_TM_QueryRank(tm);
  size = gex_TM_QuerySize(tm);
  right = (me + 1) % size;
  left = (me + size - 1) % size;
  if (strcmp(what, "bound") == 0) {
    OK(gex_Segment_Create(&segment, client, memory[0] + 5, BYTES, GEX_MK_HOST, 0));
    OK(gex_EP_BindSegment(eps[0], segment, 0));
  } else {
    OK(gex_Segment_Attach(&segment, tm, (BYTES / GASNET_PAGESIZE + 1) * GASNET_PAGESIZE));
  }
  for (i = 1; i < ENDPOINTS; i++) {
    OK(gex_EP_Create(&eps[i], client, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM | GEX_EP_CAPABILITY_VIS, 0));
    OK(gex_Segment_Create(&segment, client, i == 1 ? NULL : memory[1] + 3, BYTES, GEX_MK_HOST, 0));
    OK(gex_EP_BindSegment(eps[i], segment, 0));
  }
  OK(gex_EP_PublishBoundSegment(tm, eps, ENDPOINTS, 0));
  if (strcmp(what, "unknown") == 0) gex_RMA_PutBlocking(gex_TM_Pair(eps[0], 3), 0, memory, data, 1, 0);
  for (i = 0; i < ENDPOINTS; i++)
    for (k = 0; k < ENDPOINTS; k++) {
      uintptr_t bytes = 0;
      void *base = NULL;
      pair = gex_TM_Pair(eps[k], (gex_EP_Index_t)i);
      gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, right, &base, NULL, &bytes, 0));
      CHECK(bytes >= BYTES);
      right_base = (char *)base;

      gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, me, &base, NULL, NULL, 0));
      own_base = (char *)base;
      gex_Event_Wait(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(eps[0], (gex_EP_Index_t)k), left, &base, NULL, NULL, 0));
      left_base = (char *)base;
      gex_Event_Wait(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(eps[0], (gex_EP_Index_t)k), me, &base, NULL, NULL, 0));
      source_base = (char *)base;
      if (i == 2 && strcmp(what, "outside") == 0 && me == 0)
        gex_RMA_PutBlocking(pair, right, right_base + bytes - 3, data, 4, 0);
      if (i == 2 && strcmp(what, "outside-nb") == 0 && me == 0)
        gex_Event_Wait(gex_RMA_PutNB(pair, right, right_base + bytes - 3, data, 4, GEX_EVENT_NOW, 0));
      barrier();
      transfers();
      messages();
      pieces();
      barrier();
    }
  finish();
  return 0;
}
