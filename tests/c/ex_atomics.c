// GASNet-EX atomic domains: every operation on every type, by events and implicitly, against an oracle; domains of teams; all ranks on one word;
// members that make a domain long before others; and mistakes.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// flags: -fwrapv
// run: 1 2 4 | says passed
// run: 3 | args 7 | env GASNET_CHECK=1 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 4 | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 1 | args not-in | status 134 | says gex_AD_OpNB_U64: GEX_OP_SUB is not in the domain, which was made for GEX_OP_ADD
// run: 1 | args two | status 134 | says GEX_OP_GET is not in the domain
// run: 1 | args type | status 134 | says gex_AD_OpNBI_I32: the domain is one of U64 words
// run: 1 | args rank | status 134 | says gex_AD_OpNB_U64: there is no rank 1: the team has 1 ranks
// run: 1 | args outside | status 134 | says gex_AD_OpNB_U64: a word at address 0x | says is outside the segment of rank 0
// run: 1 | args aligned | status 134 | says is no address of a word: it must be a multiple of 8
// run: 1 | args float | status 134 | says gex_AD_Create: there is no GEX_OP_AND of F64
// run: 1 | args no-type | status 134 | says gex_AD_Create: 0x3 is not one type of words
// run: 2 | args differ | status 1 | says making an atomic domain: rank | says all members give the same
// run: 2 | args my-rank | env GASNET_CHECK=1 | status 134 | says GEX_FLAG_AD_MY_RANK, but the target is rank
// run: 1 | args destroyed | status 134 | says gex_AD_QueryDT: 0x | says is no atomic domain, or one that was destroyed
#include <gasnet_ratomic.h>

#include "check.h"

static gex_TM_t world;
static gex_Rank_t me, size;
static char *segments[1024];
static uint64_t state;

static uint64_t draw(uint64_t below) {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) % below;
}

#define ARITHMETIC                                                                                              \
  (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_INC | GEX_OP_DEC | GEX_OP_SET | GEX_OP_CAS)
#define BITWISE (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)

#define PLAIN(T, name)                                                     \
  case GEX_OP_SET: return a;                                               \
  case GEX_OP_ADD: return (T)(old + a);                                    \
  case GEX_OP_SUB: return (T)(old - a);                                    \
  case GEX_OP_MULT: return (T)(old * a);                                   \
  case GEX_OP_MIN: return a < old ? a : old;                               \
  case GEX_OP_MAX: return a > old ? a : old;                               \
  case GEX_OP_INC: return (T)(old + 1);                                    \
  case GEX_OP_DEC: return (T)(old - 1);                                    \
  case GEX_OP_CAS: return memcmp(&old, &a, sizeof(T)) == 0 ? b : old;
#define BITS          \
  case GEX_OP_AND: return old & a; \
  case GEX_OP_OR: return old | a;  \
  case GEX_OP_XOR: return old ^ a;
#define NOBITS

#define WORDS 16
/* A random program: each of this rank's words elsewhere has one operation on it at a time. */
#define TYPE(name, T, bitwise, OPS)                                                                                 \
  static T oracle_##name(gex_OP_t op, T old, T a, T b) {                                                            \
    switch (op) {                                                                                                   \
      PLAIN(T, name)                                                                                                \
      bitwise                                                                                                       \
      default: return old;                                                                                          \
    }                                                                                                               \
  }                                                                                                                 \
  static void random_##name(gex_TM_t tm, int rounds) {                                                              \
    const gex_OP_t ops = (OPS) | GEX_OP_TO_FETCHING(OPS) | GEX_OP_GET;                                              \
    const gex_Rank_t members = gex_TM_QuerySize(tm);                                                                \
    T model[WORDS], want[WORDS], result[WORDS];                                                                     \
    gex_Event_t event[WORDS];                                                                                       \
    int fetched[WORDS], i, k;                                                                                       \
    gex_AD_t ad = GEX_AD_INVALID;                                                                                   \
    gex_AD_Create(&ad, tm, GEX_DT_##name, ops, 0);                                                                  \
    CHECK(ad != GEX_AD_INVALID && gex_AD_QueryTM(ad) == tm && gex_AD_QueryDT(ad) == GEX_DT_##name);                 \
    CHECK(gex_AD_QueryOps(ad) == ops && gex_AD_QueryFlags(ad) == 0 && gex_AD_QueryCData(ad) == NULL);               \
    gex_AD_SetCData(ad, &world);                                                                                    \
    CHECK(gex_AD_QueryCData(ad) == &world);                                                                         \
    for (i = 0; i < WORDS; i++) {                                                                                   \
      const gex_Rank_t to = (gex_TM_QueryRank(tm) + (gex_Rank_t)i) % members;                                       \
      const gex_Rank_t job = gex_TM_TranslateRankToJobrank(tm, to);                                                 \
      event[i] = gex_AD_OpNB_##name(ad, NULL, to, segments[job] + 1024 * me + 8 * i, GEX_OP_SET, (T)0, (T)0, 0);     \
      model[i] = 0;                                                                                                 \
      fetched[i] = 0;                                                                                               \
    }                                                                                                               \
    for (k = 0; k < rounds; k++) {                                                                                  \
      const gex_OP_t op = (gex_OP_t)1 << draw(28), plain = op >= GEX_OP_FAND ? GEX_OP_TO_NONFETCHING(op) : op;       \
      const int fetches = op >= GEX_OP_FAND;                                                                        \
      const T a = (T)draw(2) ? (T)((int)draw(2000) - 1000) : model[i = (int)draw(WORDS)], b = (T)draw(100000);       \
      const int on = (int)draw(WORDS);                                                                              \
      const gex_Rank_t to = (gex_TM_QueryRank(tm) + (gex_Rank_t)on) % members;                                      \
      const gex_Rank_t job = gex_TM_TranslateRankToJobrank(tm, to);                                                 \
      const gex_Flags_t flags = (draw(2) ? GEX_FLAG_RANK_IS_JOBRANK : 0) | (draw(2) ? GEX_FLAG_AD_REL : 0) |        \
                                (draw(2) ? GEX_FLAG_AD_ACQ : 0) | (to == gex_TM_QueryRank(tm) ? GEX_FLAG_AD_MY_RANK : 0); \
      const gex_Rank_t named = flags & GEX_FLAG_RANK_IS_JOBRANK ? job : to;                                         \
      char *at = segments[job] + 1024 * me + 8 * on;                                                                \
      if (!(op & ops)) continue;                                                                                    \
      gex_Event_Wait(event[on]);                                                                                    \
      if (fetched[on]) CHECK(memcmp(&result[on], &want[on], sizeof(T)) == 0); \
      want[on] = model[on];                                                                                         \
      model[on] = op == GEX_OP_GET ? model[on] : oracle_##name(plain, model[on], a, b);                             \
      fetched[on] = fetches;                                                                                        \
      if (draw(3) == 0) {                                                                                           \
        CHECK_EQUAL(gex_AD_OpNBI_##name(ad, fetches ? &result[on] : NULL, named, at, op, a, b, flags), 0);          \
        gex_NBI_Wait(plain == GEX_OP_SET && op == GEX_OP_SET ? GEX_EC_PUT : op == GEX_OP_GET ? GEX_EC_GET : GEX_EC_RMW, 0); \
        event[on] = GEX_EVENT_INVALID;                                                                              \
      } else {                                                                                                      \
        event[on] = gex_AD_OpNB_##name(ad, fetches ? &result[on] : NULL, named, at, op, a, b, flags);               \
      }                                                                                                             \
    }                                                                                                               \
    for (i = 0; i < WORDS; i++) {                                                                                   \
      const gex_Rank_t to = (gex_TM_QueryRank(tm) + (gex_Rank_t)i) % members;                                       \
      char *at = segments[gex_TM_TranslateRankToJobrank(tm, to)] + 1024 * me + 8 * i;                               \
      gex_Event_Wait(event[i]);                                                                                     \
      if (fetched[i]) CHECK(memcmp(&result[i], &want[i], sizeof(T)) == 0); \
      gex_Event_Wait(gex_AD_OpNB_##name(ad, &result[i], to, at, GEX_OP_GET, (T)0, (T)0, 0));                        \
      CHECK(memcmp(&result[i], &model[i], sizeof(T)) == 0); \
    }                                                                                                               \
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));                                                                      \
    /* all on one word, in an access region */                                                                      \
    if (me == gex_TM_TranslateRankToJobrank(tm, 0)) {                                                               \
      gex_Event_Wait(gex_AD_OpNB_##name(ad, NULL, 0, segments[me], GEX_OP_SET, (T)0, (T)0, 0));                     \
    }                                                                                                               \
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));                                                                      \
    gex_NBI_BeginAccessRegion(0);                                                                                   \
    for (k = 0; k < 50; k++) {                                                                                      \
      CHECK_EQUAL(gex_AD_OpNBI_##name(ad, NULL, 0, segments[gex_TM_TranslateRankToJobrank(tm, 0)], GEX_OP_ADD, (T)3, \
                                      (T)0, 0), 0);                                                                 \
    }                                                                                                               \
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));                                                                     \
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));                                                                      \
    gex_Event_Wait(gex_AD_OpNB_##name(ad, &result[0], 0, segments[gex_TM_TranslateRankToJobrank(tm, 0)], GEX_OP_FADD, \
                                      (T)0, (T)0, 0));                                                              \
    CHECK(result[0] == (T)(150 * members));                                                                         \
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));                                                                      \
    gex_AD_Destroy(ad);                                                                                             \
  }
TYPE(I32, int32_t, BITS, ARITHMETIC | BITWISE)
TYPE(U32, uint32_t, BITS, ARITHMETIC | BITWISE)
TYPE(I64, int64_t, BITS, ARITHMETIC | BITWISE)
TYPE(U64, uint64_t, BITS, ARITHMETIC | BITWISE)
/* products of small whole numbers may round: the oracle does the same */
TYPE(FLT, float, NOBITS, ARITHMETIC)
TYPE(DBL, double, NOBITS, ARITHMETIC)

static void all_types(gex_TM_t tm, int rounds) {
  random_I32(tm, rounds);
  random_U32(tm, rounds);
  random_I64(tm, rounds);
  random_U64(tm, rounds);
  random_FLT(tm, rounds);
  random_DBL(tm, rounds);
}

/* Each in turn makes the domain of a round, and the others make it only when they have heard of that. */
static void one_before_the_others(void) {
  const gex_Rank_t rounds = 3 * size;
  volatile uint64_t *heard = (volatile uint64_t *)(segments[me] + 65536);
  gex_Rank_t round, i;
  heard[0] = heard[1] = 0;
  gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
  for (round = 0; round < rounds; round++) {
    const gex_Rank_t first = round % size;
    uint64_t next = round + 1, sum = 0;
    gex_TM_t team;
    gex_AD_t ad;
    (void)gex_TM_Split(&team, world, 0, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    if (me != first) GASNET_BLOCKUNTIL(*heard == next);
    gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_GET, 0);
    for (i = 0; i < size && me == first; i++) {
      if (i != me) OK(gex_RMA_PutBlocking(world, i, segments[i] + 65536, &next, sizeof(next), 0));
    }
    gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, first, segments[first] + 65544, GEX_OP_ADD, me + 1, 0, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gex_Event_Wait(gex_AD_OpNB_U64(ad, &sum, first, segments[first] + 65544, GEX_OP_GET, 0, 0, 0));
    CHECK_EQUAL(sum, (round / size + 1) * (size * (size + 1) / 2));
    gex_AD_Destroy(ad);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    (void)gex_TM_Destroy(team, NULL, GEX_FLAG_GLOBALLY_QUIESCED);
  }
}

static void mistake(const char *which) {
  gex_AD_t ad;
  uint64_t old;
  char *word = segments[0];
  if (!strcmp(which, "float")) gex_AD_Create(&ad, world, GEX_DT_DBL, GEX_OP_ADD | GEX_OP_AND, 0);
  if (!strcmp(which, "no-type")) gex_AD_Create(&ad, world, GEX_DT_I32 | GEX_DT_U32, GEX_OP_ADD, 0);
  if (!strcmp(which, "differ")) gex_AD_Create(&ad, world, GEX_DT_I32, me ? GEX_OP_ADD : GEX_OP_SUB, 0);
  gex_AD_Create(&ad, world, GEX_DT_U64, GEX_OP_ADD | GEX_OP_GET, GEX_FLAG_AD_FAVOR_MY_NBRHD);
  CHECK_EQUAL(gex_AD_QueryFlags(ad), GEX_FLAG_AD_FAVOR_MY_NBRHD);
  if (!strcmp(which, "not-in")) gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, 0, word, GEX_OP_SUB, 1, 0, 0));
  if (!strcmp(which, "two")) gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, 0, word, GEX_OP_ADD | GEX_OP_GET, 1, 0, 0));
  if (!strcmp(which, "type")) gex_AD_OpNBI_I32(ad, NULL, 0, word, GEX_OP_ADD, 1, 0, 0);
  if (!strcmp(which, "rank")) gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, 1, word, GEX_OP_ADD, 1, 0, 0));
  if (!strcmp(which, "outside")) gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, 0, word - 8, GEX_OP_ADD, 1, 0, 0));
  if (!strcmp(which, "aligned")) gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, 0, word + 4, GEX_OP_ADD, 1, 0, 0));
  if (!strcmp(which, "my-rank"))
    gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, !me, segments[!me], GEX_OP_ADD, 1, 0, GEX_FLAG_AD_MY_RANK));
  gex_AD_Destroy(ad);
  if (!strcmp(which, "destroyed")) gex_AD_QueryDT(ad);
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  gex_TM_t turned, half;
  gex_Rank_t i;
  OK(gex_Client_Init(&client, &ep, &world, "EX_ATOMICS", &argc, &argv, 0));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  OK(gex_Segment_Attach(&segment, world, 1 << 20));
  for (i = 0; i < size; i++) segments[i] = segment_of(i) + 4096;
  if (argc > 1 && !(argv[1][0] >= '0' && argv[1][0] <= '9')) {
    for (i = 0; i < size; i++) segments[i] -= 4096;
    mistake(argv[1]);
  }
  state = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 1000 + me;
  if (me == 0) printf("seed %s\n", argc > 1 ? argv[1] : "1");
  one_before_the_others();
  all_types(world, 1500);
  (void)gex_TM_Split(&turned, world, 0, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  all_types(turned, 300);
  (void)gex_TM_Split(&half, world, (int)(me % 2), 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  all_types(half, 300);
  gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
  (void)gex_TM_Destroy(half, NULL, 0);
  (void)gex_TM_Destroy(turned, NULL, GEX_FLAG_GLOBALLY_QUIESCED);
  finish();
  return 0;
}
