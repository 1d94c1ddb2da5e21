// GASNet-EX: endpoints, segments of the client's own memory, publishing, what is asked about them, memory kinds.
// mode: seq par
// compiler: gcc clang
// std: c99 gnu2x c++11 gnu++20
// run: 1 2 4 | says passed
// run: 3 | args library | env GASNET_CHECK=1 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 1 | args size-0 | status 134 | says gex_Segment_Create: a segment of 0 bytes
// run: 1 | args no-kind | status 134 | says gex_Segment_Create: the memory kind is GEX_MK_INVALID
// run: 1 | args flags | status 134 | says gex_Segment_Create: the flags are 0x1; this call has none
// run: 1 | args no-place | status 134 | says gex_Segment_Create: the place for the segment is a null pointer
// run: 1 | args no-client | status 134 | says gex_Segment_Create: the client is GEX_CLIENT_INVALID
// run: 1 | args destroy-bound | status 134 | says the segment is bound to an endpoint, which keeps it
// run: 1 | args destroy-twice | status 134 | says gex_Segment_Destroy: 0x | says is no segment, or one that was destroyed
// run: 1 | args pair-33 | status 134 | says gex_TM_Pair: there is no endpoint 33: the last is 32
// run: 1 | args kind-host | status 134 | says gex_MK_Destroy: GEX_MK_HOST cannot be destroyed
// run: 1 | args device | says gasnet: gex_MK_Create (rank 0): GEX_MK_CLASS_HIP: this library was built without support for memory of HIP devices
#include <gasnet.h>
#include <gasnet_mk.h>

#include "check.h"

#define ROUNDS 3

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t tm;
static uint64_t memory[1200], other[100];

static int queried(gex_TM_t team, gex_Rank_t rank, void **owner, void **local, uintptr_t *size) {
  gex_Event_t event = gex_EP_QueryBoundSegmentNB(team, rank, owner, local, size, GEX_FLAG_IMMEDIATE);
  CHECK(event == GEX_EVENT_INVALID);
  return *size != 0;
}

static void mistakes(const char *what) {
  gex_Segment_t segment = GEX_SEGMENT_INVALID;
  if (strcmp(what, "size-0") == 0) gex_Segment_Create(&segment, client, memory, 0, GEX_MK_HOST, 0);
  if (strcmp(what, "no-kind") == 0) gex_Segment_Create(&segment, client, memory, 8, GEX_MK_INVALID, 0);
  if (strcmp(what, "flags") == 0) gex_Segment_Create(&segment, client, memory, 8, GEX_MK_HOST, 1);
  if (strcmp(what, "no-place") == 0) gex_Segment_Create(NULL, client, memory, 8, GEX_MK_HOST, 0);
  if (strcmp(what, "no-client") == 0)
    gex_Segment_Create(&segment, GEX_CLIENT_INVALID, memory, 8, GEX_MK_HOST, 0);
  if (strcmp(what, "destroy-bound") == 0 || strcmp(what, "destroy-twice") == 0) {
    OK(gex_Segment_Create(&segment, client, memory, 8, GEX_MK_HOST, 0));
    if (strcmp(what, "destroy-bound") == 0) OK(gex_EP_BindSegment(ep, segment, 0));
    gex_Segment_Destroy(segment, 0);
    gex_Segment_Destroy(segment, 0);
  }
  if (strcmp(what, "pair-33") == 0) gex_TM_Pair(ep, 33);
  if (strcmp(what, "kind-host") == 0) gex_MK_Destroy(GEX_MK_HOST, 0);
}

static void kinds(void) {
  gex_MK_t kind = GEX_MK_INVALID;
  gex_MK_Create_args_t args;
  memset(&args, 0, sizeof(args));
  args.gex_class = GEX_MK_CLASS_CUDA_UVA;
  CHECK_EQUAL(gex_MK_Create(&kind, client, &args, 0), GASNET_ERR_BAD_ARG);
  args.gex_class = GEX_MK_CLASS_ZE;
  CHECK_EQUAL(gex_MK_Create(&kind, client, &args, 0), GASNET_ERR_BAD_ARG);
  args.gex_class = GEX_MK_CLASS_HOST;
  CHECK_EQUAL(gex_MK_Create(&kind, client, &args, 0), GASNET_ERR_BAD_ARG);
  args.gex_class = GEX_MK_CLASS_HIP;
  CHECK_EQUAL(gex_MK_Create(&kind, client, &args, 1), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_MK_Create(NULL, client, &args, 0), GASNET_ERR_BAD_ARG);
  gex_System_SetVerboseErrors(1);
  CHECK_EQUAL(gex_MK_Create(&kind, client, &args, 0), GASNET_ERR_BAD_ARG);
  gex_System_SetVerboseErrors(0);
  CHECK(kind == GEX_MK_INVALID);
#if defined(GASNET_HAVE_MK_CLASS_CUDA_UVA) || defined(GASNET_HAVE_MK_CLASS_HIP) || \
    defined(GASNET_HAVE_MK_CLASS_ZE) || defined(GASNET_HAVE_MK_CLASS_MULTIPLE)
  #error a device that is not there
#endif
}

static void endpoints(void) {
  gex_EP_t made[GASNET_MAXEPS], more;
  int i;
  CHECK_EQUAL(gex_EP_Create(&more, client, 0, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_Create(&more, client, 32, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_Create(&more, client, GEX_EP_CAPABILITY_RMA | 64, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_Create(&more, client, GEX_EP_CAPABILITY_COLL, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_Create(&more, client, GEX_EP_CAPABILITY_RMA, 64), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_Create(NULL, client, GEX_EP_CAPABILITY_RMA, 0), GASNET_ERR_BAD_ARG);
  CHECK(GASNET_MAXEPS >= 33);
  for (i = 1; i < GASNET_MAXEPS; i++) {
    const gex_Flags_t hint = i == 2 ? GEX_FLAG_HINT_ACCEL_AD : 0;
    OK(gex_EP_Create(&made[i], client, GEX_EP_CAPABILITY_RMA, hint));
    CHECK_EQUAL(gex_EP_QueryIndex(made[i]), i);
    CHECK_EQUAL(gex_EP_QueryFlags(made[i]), hint);
    CHECK(gex_EP_QueryClient(made[i]) == client && gex_EP_QuerySegment(made[i]) == GEX_SEGMENT_INVALID);
    gex_EP_SetCData(made[i], &memory[i]);
  }
  CHECK_EQUAL(gex_EP_Create(&more, client, GEX_EP_CAPABILITY_RMA, 0), GASNET_ERR_RESOURCE);
  CHECK(gex_EP_QueryCData(made[1]) == &memory[1] && gex_EP_QueryCData(made[32]) == &memory[32]);

  CHECK(gex_TM_Pair(ep, 0) == gex_TM_Pair(ep, 0) && gex_TM_Pair(ep, 1) != gex_TM_Pair(ep, 0));
  CHECK(gex_TM_Pair(made[1], 0) != gex_TM_Pair(ep, 1) && gex_TM_Pair(ep, 0) != tm);
  CHECK(gex_TM_Pair(made[3], 5) != GEX_TM_INVALID);

  /* Endpoint 1 of all, 2 of all but rank 0, the same segment at both; twice, and by parts. */
  {
    const gex_Rank_t me = gex_System_QueryJobRank(), size = gex_System_QueryJobSize();
    gex_Segment_t segment;
    void *owner = memory, *local = memory;
    uintptr_t bytes = 99;
    gex_Rank_t r;
    OK(gex_Segment_Create(&segment, client, (char *)other + 3, 500 + me, GEX_MK_HOST, 0));
    CHECK(gex_Segment_QueryAddr(segment) == (char *)other + 3);
    CHECK_EQUAL(gex_Segment_QuerySize(segment), 500 + me);
    CHECK(gex_Segment_QueryClient(segment) == client && gex_Segment_QueryFlags(segment) == 0);
    OK(gex_EP_PublishBoundSegment(tm, made, 0, 0));
    OK(gex_EP_PublishBoundSegment(tm, made + 1, 2, 0));
    CHECK(!queried(gex_TM_Pair(ep, 1), me, &owner, &local, &bytes));
    bytes = 99;
    CHECK(gex_Segment_QueryBound(gex_TM_Pair(ep, 1), me, &owner, &local, &bytes) != 0);
    CHECK(owner == memory && local == memory && bytes == 99);
    OK(gex_EP_BindSegment(made[1], segment, 0));
    CHECK_EQUAL(gex_EP_BindSegment(made[1], segment, 0), GASNET_ERR_BAD_ARG);
    CHECK(gex_EP_QuerySegment(made[1]) == segment);
    if (me != 0) OK(gex_EP_BindSegment(made[2], segment, 0));
    CHECK(queried(gex_TM_Pair(made[7], 1), me, &owner, &local, &bytes));
    CHECK(owner == (char *)other + 3 && local == owner && bytes == 500 + me);
    barrier();
    for (r = 0; r < size; r++)
      if (r != me) CHECK(!queried(gex_TM_Pair(ep, 1), r, &owner, &local, &bytes));
    barrier();
    OK(gex_EP_PublishBoundSegment(tm, made + 1, me % 2 + 1, 0));
    OK(gex_EP_PublishBoundSegment(tm, made + 1, 3, 0));
    for (r = 0; r < size; r++) {
      CHECK_EQUAL(gex_Segment_QueryBound(gex_TM_Pair(ep, 1), r, &owner, &local, &bytes), 0);
      CHECK(bytes == 500 + r && (r == me ? local == owner : local == NULL));
      CHECK_EQUAL(queried(gex_TM_Pair(ep, 2), r, &owner, &local, &bytes), r != 0);
      CHECK(!queried(gex_TM_Pair(ep, 3), r, &owner, &local, &bytes));
    }
    gex_Event_t event = gex_EP_QueryBoundSegmentNB(gex_TM_Pair(ep, 1), 0, NULL, NULL, NULL, 0);
    CHECK(event == GEX_EVENT_INVALID);
  }
}

int main(int argc, char **argv) {
  gex_Segment_t segment, spare;
  void *owner, *local;
  uintptr_t bytes;
  char *base;
  int library = argc > 1 && strcmp(argv[1], "library") == 0, i;
  gex_Rank_t me, r;
  OK(gex_Client_Init(&client, &ep, &tm, "EX_ENDPOINTS", &argc, &argv, GEX_FLAG_USES_GASNET1));
  me = gex_System_QueryJobRank();
  if (argc > 1 && !library && strcmp(argv[1], "device") != 0) mistakes(argv[1]);
  gex_System_SetVerboseErrors(0);
  kinds();
  endpoints();

  /* The primordial endpoint: created, bound and published in place of attached. */
  CHECK(!queried(tm, me, &owner, &local, &bytes));
  OK(gex_EP_PublishBoundSegment(tm, &ep, 1, 0));
  if (library) {
    OK(gex_Segment_Create(&segment, client, NULL, 5000, GEX_MK_HOST, 0));
    base = (char *)gex_Segment_QueryAddr(segment);
    CHECK(gex_Segment_QuerySize(segment) >= 5000 && (uintptr_t)base % GASNET_PAGESIZE == 0);
  } else {
    base = (char *)memory + 1;
    OK(gex_Segment_Create(&segment, client, base, 8001, GEX_MK_HOST, 0));
  }
  OK(gex_Segment_Create(&spare, client, NULL, 1, GEX_MK_HOST, 0));
  CHECK_EQUAL(gex_EP_BindSegment(GEX_EP_INVALID, segment, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_BindSegment(ep, GEX_SEGMENT_INVALID, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gex_EP_BindSegment(ep, segment, 1), GASNET_ERR_BAD_ARG);
  OK(gex_EP_BindSegment(ep, segment, 0));
  CHECK_EQUAL(gex_EP_BindSegment(ep, spare, 0), GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_QuerySegment(ep) == segment);
  gex_Segment_Destroy(spare, 0);
  CHECK(queried(tm, me, &owner, &local, &bytes) && owner == base && local == base);
  OK(gex_EP_PublishBoundSegment(tm, &ep, me % 2, 0));
  OK(gex_EP_PublishBoundSegment(tm, &ep, (me + 1) % 2, 0));
  OK(gex_EP_PublishBoundSegment(tm, &ep, 1, 0));
  for (r = 0; r < gex_System_QueryJobSize(); r++) {
    CHECK(queried(tm, r, &owner, &local, &bytes) && bytes >= 5000 && (r == me ? owner == base : local == NULL));
    CHECK(queried(gex_TM_Pair(ep, 0), r, &local, NULL, &bytes) && local == owner);
  }
  CHECK_EQUAL(gex_Segment_Attach(&spare, tm, GASNET_PAGESIZE), GASNET_ERR_NOT_INIT);
  OK(gex_EP_QueryBoundSegmentNB(tm, right_neighbour(), &owner, NULL, NULL, 0) != GEX_EVENT_INVALID);

  /* It is a segment like any other, to neighbours too. */
  for (i = 0; i < ROUNDS; i++) {
    uint64_t values[200], back[200];
    int k;
    for (k = 0; k < 200; k++) values[k] = me * 1000 + k + i;
    gasnet_put(right_neighbour(), (char *)owner + 5, values, sizeof(values));
    gasnet_get(back, right_neighbour(), (char *)owner + 5, sizeof(back));
    CHECK(memcmp(values, back, sizeof(back)) == 0);
    gasnet_put_nbi_bulk(right_neighbour(), (char *)owner + 2000, values, 1000);
    gasnet_wait_syncnbi_puts();
    barrier();
    memcpy(back, base + 2000, 1000);
    CHECK_EQUAL(back[3], left_neighbour() * 1000 + 3 + i);
    barrier();
  }
  finish();
  return 0;
}
