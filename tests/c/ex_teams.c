// GASNet-EX teams: split, made of lists and given up; scratch memory comes back; who is in them; hosts and neighbourhoods; and mistakes.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// run: 1 2 3 4 8 | says passed
// run: 4 | env GASNET_CHECK=1 | says passed
// run: 3 | args early | env GASNET_CONDUIT=smp | says passed
// run: 3 | args early | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 3 | args early | env GASNET_CONDUIT=netvm | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 4 | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 2 | args primordial | status 134 | says gex_TM_Destroy: the primordial team cannot be destroyed
// run: 2 | args destroyed | status 134 | says gex_TM_QueryRank: 0x | says is no team, or one that was destroyed
// run: 2 | args color | status 134 | says gex_TM_Split: the color is -1
// run: 2 | args no-scratch | status 134 | says gex_TM_Split: scratch memory of 0 bytes
// run: 2 | args elsewhere | env GASNET_CHECK=1 | status 134 | says is not in the segment of this endpoint
// run: 2 | args how-scratch | status 134 | says gex_TM_Create: pass exactly one of
// run: 2 | args count | status 134 | says gex_TM_Create: num_new_tms is 0, but 1 of the endpoints
// run: 2 | args huge | status 134 | says gex_TM_Create: a team of 1099511627776 endpoints, and the job has 2
// run: 2 | args endpoint | status 134 | says gex_TM_Create: endpoint 1 of rank 0: only primordial endpoints
// run: 3 | args lists | status 1 | says all members of a team give the same
// run: 2 | args twice | status 1 | says rank 0 is named twice
// run: 2 | args outside | status 134 | says gex_TM_TranslateRankToJobrank: there is no rank 2: the team has 2 ranks
#include <gasnetex.h>

#include "check.h"

static gex_TM_t world;
static char *scratch;
static gex_Rank_t me, size;

static void wait_for(gex_Event_t event) { gex_Event_Wait(event); }

/* All members agree on who is who, and can meet. */
static void check_team(gex_TM_t tm, gex_Rank_t expected_size, gex_Rank_t expected_rank,
                       gex_Rank_t (*jobrank)(gex_Rank_t)) {
  gex_Rank_t i;
  int at;
  CHECK_EQUAL(gex_TM_QuerySize(tm), expected_size);
  CHECK_EQUAL(gex_TM_QueryRank(tm), expected_rank);
  CHECK(gex_TM_QueryEP(tm) == gex_TM_QueryEP(world) && gex_TM_QueryClient(tm) == gex_TM_QueryClient(world));
  for (i = 0; i < expected_size; i++) {
    const gex_EP_Location_t location = gex_TM_TranslateRankToEP(tm, i, 0);
    CHECK_EQUAL(gex_TM_TranslateRankToJobrank(tm, i), jobrank(i));
    CHECK_EQUAL(gex_TM_TranslateJobrankToRank(tm, jobrank(i)), i);
    CHECK(location.gex_rank == jobrank(i) && location.gex_ep_index == 0);
  }
  CHECK_EQUAL(gex_TM_TranslateJobrankToRank(tm, size), GEX_RANK_INVALID);
  CHECK(gex_TM_QueryCData(tm) == NULL);
  gex_TM_SetCData(tm, &world);
  CHECK(gex_TM_QueryCData(tm) == &world);
  for (at = 0; at < 3; at++) {
    gex_Event_t events[5];
    size_t k;
    for (k = 0; k < 5; k++) events[k] = gex_Coll_BarrierNB(tm, 0);
    for (k = 5; k-- > 0;) wait_for(events[k]);
  }
}

/* rows of three, and columns whose ranks are turned around */
static gex_Rank_t of_row(gex_Rank_t i) { return me / 3 * 3 + i; }
static gex_Rank_t column_size(void) { return (size - me % 3 + 2) / 3; }
static gex_Rank_t of_column(gex_Rank_t i) { return me % 3 + 3 * (column_size() - 1 - i); }
/* the even ranks, backwards; a pair of neighbours */
static gex_Rank_t evens(void) { return (size + 1) / 2; }
static gex_Rank_t of_evens(gex_Rank_t i) { return 2 * (evens() - 1 - i); }
static gex_Rank_t of_all(gex_Rank_t i) { return i; }

static void splits(void) {
  gex_TM_t row, column, none = GEX_TM_INVALID;
  gex_Memvec_t back;
  const gex_Rank_t row_size = size - me / 3 * 3 < 3 ? size - me / 3 * 3 : 3;
  const size_t want = gex_TM_Split(&row, world, (int)(me / 3), 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
  CHECK(want > 0);
  CHECK_EQUAL(gex_TM_Split(NULL, world, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED), 0);
  (void)gex_TM_Split(&row, world, (int)(me / 3), 0, scratch, want, 0);
  check_team(row, row_size, me % 3, of_row);
  /* keys are signed */
  (void)gex_TM_Split(&column, world, (int)(me % 3), 2 - (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  check_team(column, column_size(), column_size() - 1 - me / 3, of_column);
  /* a team of a team */
  if (me % 3 == 0) {
    gex_TM_t again;
    (void)gex_TM_Split(&again, column, 7, -(int)gex_TM_QueryRank(column), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK_EQUAL(gex_TM_QueryRank(again), me / 3);
    CHECK_EQUAL(gex_TM_Destroy(again, &back, GEX_FLAG_GLOBALLY_QUIESCED), 0);
  }
  CHECK_EQUAL(gex_TM_Destroy(column, NULL, 0), 0);
  if (me / 3 == 1) {
    gex_TM_t unasked;
    (void)gex_TM_Split(&unasked, row, 0, 0, scratch, want, 0);
    CHECK_EQUAL(gex_TM_Destroy(unasked, NULL, 0), 0);
  }
  CHECK(gex_TM_Destroy(row, &back, 0) != 0);
  CHECK(back.gex_addr == scratch && back.gex_len == want);
  /* who passes a null pointer is in none */
  (void)gex_TM_Split(me % 2 ? NULL : &none, world, 0, (int)(size - me), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  CHECK((none == GEX_TM_INVALID) == (me % 2 == 1));
  if (none != GEX_TM_INVALID) {
    check_team(none, evens(), evens() - 1 - me / 2, of_evens);
    CHECK_EQUAL(gex_TM_Destroy(none, &back, 0), 0);
  }
}

static void lists(void) {
  static const gex_Flags_t how[] = { GEX_FLAG_TM_LOCAL_SCRATCH, GEX_FLAG_TM_GLOBAL_SCRATCH,
                                     GEX_FLAG_TM_SYMMETRIC_SCRATCH, GEX_FLAG_TM_NO_SCRATCH };
  gex_EP_Location_t *args = (gex_EP_Location_t *)calloc(size, sizeof(*args));
  gex_Addr_t *lent = (gex_Addr_t *)calloc(size, sizeof(*lent));
  gex_TM_t tm = GEX_TM_INVALID, all;
  gex_Memvec_t back;
  gex_Rank_t i;
  size_t k, want;
  for (i = 0; i < size; i++) args[i].gex_rank = i;
  (void)gex_TM_Create(&all, 1, world, args, size, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  check_team(all, size, me, of_all);
  for (k = 0; k < 4; k++) {
    const int in = me % 2 == 0;
    for (i = 0; i < evens(); i++) {
      args[i].gex_rank = of_evens(i);
      lent[i] = how[k] == GEX_FLAG_TM_GLOBAL_SCRATCH ? NULL : scratch;
    }
    if (in) lent[how[k] == GEX_FLAG_TM_GLOBAL_SCRATCH ? evens() - 1 - me / 2 : 0] = scratch;
    want = gex_TM_Create(&tm, in, all, args, in ? evens() : 0, NULL, 0,
                         GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED | how[k] | GEX_FLAG_RANK_IS_JOBRANK);
    CHECK((want > 0) == in);
    tm = GEX_TM_INVALID;
    (void)gex_TM_Create(in ? &tm : NULL, in, all, args, in ? evens() : 0, lent, want,
                        how[k] | (k % 2 ? GEX_FLAG_RANK_IS_JOBRANK : 0));
    CHECK((tm != GEX_TM_INVALID) == in);
    if (!in) continue;
    check_team(tm, evens(), evens() - 1 - me / 2, of_evens);
    back.gex_addr = NULL;
    CHECK_EQUAL(gex_TM_Destroy(tm, &back, k % 2 ? GEX_FLAG_GLOBALLY_QUIESCED : 0) != 0,
                how[k] != GEX_FLAG_TM_NO_SCRATCH);
    if (how[k] != GEX_FLAG_TM_NO_SCRATCH) CHECK(back.gex_addr == scratch && back.gex_len == want);
  }
  CHECK_EQUAL(gex_TM_Destroy(all, NULL, 0), 0);
  free(args);
  free(lent);
}

static void groups(void) {
  gex_RankInfo_t *near, *host;
  gex_Rank_t nears, hosts, own, own_here, i, k, sets, set, host_sets, host_set;
  gex_System_QueryNbrhdInfo(&near, &nears, &own);
  gex_System_QueryHostInfo(&host, &hosts, &own_here);
  CHECK(nears > 0 && nears <= hosts && hosts <= size && own < nears && own_here < hosts);
  CHECK(near[own].gex_jobrank == me && host[own_here].gex_jobrank == me);
  for (i = 1; i < nears; i++) CHECK(near[i - 1].gex_jobrank < near[i].gex_jobrank);
  for (i = 1; i < hosts; i++) CHECK(host[i - 1].gex_jobrank < host[i].gex_jobrank);
  for (i = 0; i < nears; i++) {
    for (k = 0; k < hosts && host[k].gex_jobrank != near[i].gex_jobrank;) k++;
    CHECK(k < hosts);
  }
  gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
  gex_System_QueryHostInfo(NULL, &k, NULL);
  CHECK_EQUAL(k, hosts);
  gex_System_QueryMyPosition(&sets, &set, &host_sets, &host_set);
  gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
  CHECK(set < sets && host_set < host_sets && host_sets <= sets && sets <= size);
  CHECK_EQUAL(host_sets, 1);
  if (getenv("GASNET_NEIGHBORHOOD") != NULL) {
    const gex_Rank_t full = strcmp(getenv("GASNET_NEIGHBORHOOD"), "off") ? 2 : 1;
    CHECK_EQUAL(sets, (size + full - 1) / full);
    CHECK_EQUAL(set, me / full);
  }
}

static void mistake(const char *which) {
  gex_TM_t tm;
  gex_EP_Location_t args[2] = { { 0, 0 }, { 1, 0 } };
  static char outside[64];
  if (!strcmp(which, "primordial")) gex_TM_Destroy(world, NULL, 0);
  if (!strcmp(which, "color")) gex_TM_Split(&tm, world, -1, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  if (!strcmp(which, "no-scratch")) gex_TM_Split(&tm, world, 0, 0, NULL, 0, 0);
  if (!strcmp(which, "elsewhere")) gex_TM_Split(&tm, world, 0, 0, outside, 64, 0);
  if (!strcmp(which, "how-scratch")) gex_TM_Create(&tm, 1, world, args, 2, NULL, 0, 0);
  if (!strcmp(which, "count")) gex_TM_Create(&tm, 0, world, args, 2, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  if (!strcmp(which, "huge"))
    gex_TM_Create(&tm, 1, world, args, (size_t)1 << 40, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  if (!strcmp(which, "outside")) gex_TM_TranslateRankToJobrank(world, size);
  if (!strcmp(which, "lists")) {
    gex_EP_Location_t three[3] = { { 0, 0 }, { 1, 0 }, { 2, 0 } };
    gex_TM_Create(&tm, 1, world, three, me == 2 ? 3 : 2, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  }
  args[1].gex_rank = 0;
  if (!strcmp(which, "twice")) gex_TM_Create(&tm, me == 0, world, args, 2, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  args[0].gex_ep_index = 1;
  if (!strcmp(which, "endpoint")) gex_TM_Create(&tm, 1, world, args, 2, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  if (!strcmp(which, "destroyed")) {
    gex_TM_Split(&tm, world, 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Destroy(tm, NULL, 0);
    gex_TM_QueryRank(tm);
  }
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  int round;
  OK(gex_Client_Init(&client, &ep, &world, "EX_TEAMS", &argc, &argv, 0));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  /* collectives need no segment */
  if (argc > 1 && !strcmp(argv[1], "early")) check_team(world, size, me, of_all);
  OK(gex_Segment_Attach(&segment, world, 1 << 20));
  scratch = (char *)gex_Segment_QueryAddr(segment) + 4096;
  if (argc > 1) mistake(argv[1]);
  for (round = 0; round < 3; round++) {
    splits();
    lists();
  }
  groups();
  finish();
  return 0;
}
