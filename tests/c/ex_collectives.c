// GASNet-EX collectives: barriers, broadcasts and reductions of all types and operators and of the client's own, in place and not, many under way
// over several teams, against an oracle; the same sum comes out the same; and mistakes.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// flags: -fwrapv
// run: 1 2 3 4 8 | says passed
// run: 4 | args 5 | env GASNET_CHECK=1 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 5 | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 2 | args root | status 134 | says gex_Coll_BroadcastNB: there is no rank 2: the team has 2 ranks
// run: 1 | args nothing | status 134 | says gex_Coll_ReduceToAllNB: 0 elements of 4 bytes
// run: 1 | args size | status 134 | says gex_Coll_ReduceToOneNB: elements of F64 have 8 bytes, not 4
// run: 1 | args float | status 134 | says GEX_OP_XOR does not reduce elements of F32
// run: 1 | args operator | status 134 | says GEX_OP_SUB does not reduce elements of I32
// run: 1 | args no-function | status 134 | says GEX_OP_USER needs a function
// run: 1 | args user | status 134 | says GEX_OP_ADD of GEX_DT_USER: only GEX_OP_USER
// run: 2 | args differ | status 1 | says collective operations do not match | says a barrier on rank 1 | says a reduction to all of 4 bytes (i32) on rank 0
// run: 2 | args sizes | status 1 | says with the same sizes and roots
// run: 2 | args inside | status 1 | says a function of a reduction may not
#include <gasnet_coll.h>

#include "check.h"

static gex_TM_t world;
static gex_Rank_t me, size;
static uint64_t shared;

/* the same on all ranks, or of a rank */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static uint64_t draw(uint64_t below) { return mix(shared += 0x9e3779b97f4a7c15u) % below; }

/* elements of the client's: a sum and a largest value, with a byte to spare */
typedef struct {
  uint64_t sum;
  int32_t most;
  char rest[5];
} own_t;
typedef struct {
  int calls;
  size_t bytes;
} context_t;

static void combine_own(const void *x, void *y, size_t count, const void *cdata) {
  const own_t *a = (const own_t *)x;
  own_t *b = (own_t *)y;
  size_t i;
  if (((const context_t *)cdata)->bytes != sizeof(own_t)) abort();
  for (i = 0; i < count; i++) {
    b[i].sum += a[i].sum;
    if (a[i].most > b[i].most) b[i].most = a[i].most;
  }
}

/* large elements: every word is the sum of the members' */
static void combine_large(const void *x, void *y, size_t count, const void *cdata) {
  const uint32_t *a = (const uint32_t *)x;
  uint32_t *b = (uint32_t *)y;
  const size_t words = ((const context_t *)cdata)->bytes / 4 * count;
  size_t i;
  for (i = 0; i < words; i++) b[i] += a[i];
}

static void combine_i32(const void *x, void *y, size_t count, const void *cdata) {
  const int32_t *a = (const int32_t *)x;
  int32_t *b = (int32_t *)y;
  size_t i;
  (void)cdata;
  for (i = 0; i < count; i++) b[i] += a[i];
}

/* One operation: what each member brings, and what comes out, are found out from its seed. */
#define MOST (70000)
typedef struct {
  gex_TM_t tm;
  gex_Event_t event;
  int kind, type, in_place;
  gex_OP_t op;
  size_t count, bytes;
  gex_Rank_t root;
  uint64_t seed;
  char *src, *dst;
} run_t;

static const gex_DT_t types[] = { GEX_DT_I32, GEX_DT_U32, GEX_DT_I64, GEX_DT_U64, GEX_DT_FLT, GEX_DT_DBL, GEX_DT_USER };
static const size_t sizes[] = { 4, 4, 8, 8, 4, 8, sizeof(own_t) };
static const gex_OP_t operators[] = { GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR };
static const context_t own_context = { 0, sizeof(own_t) };

/* small whole numbers, so that sums and products of floats are exact */
static int64_t number(uint64_t seed, gex_Rank_t member, size_t i, gex_OP_t op) {
  const uint64_t x = mix(seed ^ mix(member * 1000003u + i));
  return op == GEX_OP_MULT ? (x % 3 ? 1 : 2) : (int64_t)(x % 2001) - 1000;
}

static void put_element(char *at, int type, size_t i, int64_t value) {
  switch (type) {
    case 0: ((int32_t *)at)[i] = (int32_t)value; break;
    case 1: ((uint32_t *)at)[i] = (uint32_t)value; break;
    case 2: ((int64_t *)at)[i] = value; break;
    case 3: ((uint64_t *)at)[i] = (uint64_t)value; break;
    case 4: ((float *)at)[i] = (float)value; break;
    case 5: ((double *)at)[i] = (double)value; break;
    default:
      memset(&((own_t *)at)[i], 0, sizeof(own_t));
      ((own_t *)at)[i].sum = (uint64_t)value;
      ((own_t *)at)[i].most = (int32_t)value;
  }
}

#define FOLD(T)                                                   \
  do {                                                            \
    T x = (T)number(r->seed, 0, i, r->op);                        \
    for (m = 1; m < n; m++) {                                     \
      const T y = (T)number(r->seed, m, i, r->op);                \
      switch (r->op) {                                            \
        case GEX_OP_ADD: x = (T)(x + y); break;                   \
        case GEX_OP_MULT: x = (T)(x * y); break;                  \
        case GEX_OP_MIN: x = y < x ? y : x; break;                \
        case GEX_OP_MAX: x = y > x ? y : x; break;                \
        case GEX_OP_AND: x = (T)((uint64_t)x & (uint64_t)y); break; \
        case GEX_OP_OR: x = (T)((uint64_t)x | (uint64_t)y); break;  \
        default: x = (T)((uint64_t)x ^ (uint64_t)y);              \
      }                                                           \
    }                                                             \
    return ((T *)r->dst)[i] == x;                                 \
  } while (0)

static int right(const run_t *r, size_t i) {
  const gex_Rank_t n = gex_TM_QuerySize(r->tm);
  gex_Rank_t m;
  int64_t sum = 0, most = -1001;
  switch (r->type) {
    case 0: FOLD(int32_t);
    case 1: FOLD(uint32_t);
    case 2: FOLD(int64_t);
    case 3: FOLD(uint64_t);
    case 4: FOLD(float);
    case 5: FOLD(double);
    default:
      for (m = 0; m < n; m++) {
        const int64_t v = number(r->seed, m, i, r->op);
        sum += v;
        if (v > most) most = v;
      }
      return ((own_t *)r->dst)[i].sum == (uint64_t)sum && ((own_t *)r->dst)[i].most == most;
  }
}

static void begin(run_t *r, gex_TM_t tm) {
  const gex_Rank_t rank = gex_TM_QueryRank(tm);
  size_t i;
  r->tm = tm;
  r->kind = (int)draw(4);
  r->type = (int)draw(7);
  r->op = r->type == 6 ? GEX_OP_USER : operators[draw(r->type >= 4 ? 4 : 7)];
  r->count = 1 + (draw(4) ? draw(30) : draw(MOST / sizes[r->type]));
  r->root = (gex_Rank_t)draw(gex_TM_QuerySize(tm));
  r->in_place = (int)draw(2);
  r->seed = mix(shared);
  r->bytes = r->count * sizes[r->type];
  r->src = (char *)malloc(r->bytes);
  r->dst = r->in_place ? r->src : (char *)malloc(r->bytes);
  memset(r->dst, 0x55, r->bytes);
  if (r->kind == 1) {
    /* a broadcast: only the root's source counts */
    for (i = 0; i < r->bytes; i++) r->src[i] = (char)(rank == r->root ? mix(r->seed + i) : 1);
    r->event = gex_Coll_BroadcastNB(tm, r->root, r->dst, rank == r->root ? r->src : NULL, r->bytes, 0);
    return;
  }
  if (r->kind == 0) {
    r->event = gex_Coll_BarrierNB(tm, 0);
    return;
  }
  for (i = 0; i < r->count; i++) put_element(r->src, r->type, i, number(r->seed, rank, i, r->op));
  r->event = r->kind == 2
                 ? gex_Coll_ReduceToOneNB(tm, r->root, rank == r->root ? r->dst : NULL, r->src, types[r->type],
                                          sizes[r->type], r->count, r->op, combine_own, (void *)&own_context, 0)
                 : gex_Coll_ReduceToAllNB(tm, r->dst, r->src, types[r->type], sizes[r->type], r->count, r->op,
                                          combine_own, (void *)&own_context, 0);
}

static void end(run_t *r) {
  const int here = r->kind == 3 || (r->kind == 2 && gex_TM_QueryRank(r->tm) == r->root);
  size_t i;
  gex_Event_Wait(r->event);
  for (i = 0; r->kind == 1 && i < r->bytes; i++) {
    if (r->dst[i] != (char)mix(r->seed + i)) {
      printf("ERROR: rank %d: broadcast of %d bytes: byte %d\n", (int)me, (int)r->bytes, (int)i);
      check_failures++;
      break;
    }
  }
  for (i = 0; here && i < r->count; i++) {
    if (!right(r, i)) {
      printf("ERROR: rank %d: kind %d type %d operator %x in place %d count %d: element %d\n", (int)me, r->kind, r->type,
             (unsigned)r->op, r->in_place, (int)r->count, (int)i);
      check_failures++;
      break;
    }
  }
  if (r->dst != r->src) free(r->dst);
  free(r->src);
}

#define FLYING 24
static void program(gex_TM_t *teams, int n, int steps) {
  run_t runs[FLYING];
  uint64_t own = shared ^ (me + 1) * 0x12345678u;
  int flying = 0, k;
  for (k = 0; k < steps; k++) {
    if (flying == FLYING) {
      /* in another order on each rank */
      const int which = (int)(mix(own += 77) % FLYING);
      end(&runs[which]);
      runs[which] = runs[--flying];
    }
    /* what a team does, all its members draw; teams take turns */
    begin(&runs[flying++], teams[k % n]);
  }
  while (flying > 0) end(&runs[--flying]);
}

/* A sum of floats that does round is the same every time, and the same on all ranks. */
static void rounding(void) {
  double *values = (double *)malloc(9000 * sizeof(*values)), *first = (double *)malloc(9000 * sizeof(*values));
  double *again = (double *)malloc(9000 * sizeof(*values));
  static const size_t counts[] = { 1, 7, 300, 9000 };
  size_t c, i;
  int k;
  for (i = 0; i < 9000; i++) values[i] = (double)mix(i * 77 + me) / 3e7;
  for (c = 0; c < 4; c++) {
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, first, values, GEX_DT_DBL, 8, counts[c], GEX_OP_ADD, NULL, NULL, 0));
    for (k = 0; k < 6; k++) {
      gex_Event_Wait(gex_Coll_ReduceToAllNB(world, again, values, GEX_DT_DBL, 8, counts[c], GEX_OP_ADD, NULL, NULL, 0));
      CHECK(memcmp(first, again, counts[c] * 8) == 0);
    }
    memcpy(again, first, counts[c] * 8);
    gex_Event_Wait(gex_Coll_BroadcastNB(world, 0, again, again, counts[c] * 8, 0));
    CHECK(memcmp(first, again, counts[c] * 8) == 0);
  }
  free(values);
  free(first);
  free(again);
}

static void large(void) {
  static const size_t bytes[] = { 4, 12, 32768, 40000, 262144 };
  size_t b, i;
  for (b = 0; b < 5; b++) {
    context_t context = { 0, bytes[b] };
    const size_t words = 3 * bytes[b] / 4;
    uint32_t *values = (uint32_t *)malloc(4 * words);
    for (i = 0; i < words; i++) values[i] = (uint32_t)(i * (me + 1));
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, values, values, GEX_DT_USER, bytes[b], 3, GEX_OP_USER, combine_large,
                                          &context, 0));
    for (i = 0; i < words; i++) {
      if (values[i] != (uint32_t)(i * (size * (size + 1) / 2))) {
        CHECK(!"an element of many bytes");
        break;
      }
    }
    free(values);
  }
}

/* What came before its operation was started here is not taken for another, thousands of operations later. */
static void long_after(char *segments) {
  enum { EARLY = 40 };
  volatile char *const flag = segments;
  gex_Event_t events[EARLY];
  int32_t words[EARLY];
  int k;
  *flag = 0;
  gex_Coll_BarrierBlocking(world, 0);
  if (me != 0) GASNET_BLOCKUNTIL(*flag == 1);
  for (k = 0; k < EARLY; k++) {
    words[k] = k + (me == 0);
    events[k] = gex_Coll_BroadcastNB(world, 0, &words[k], &words[k], 4, 0);
  }
  if (me == 0) {
    gex_Rank_t i;
    for (i = 1; i < size; i++) {
      const char one = 1;
      (void)gex_RMA_PutBlocking(world, i, segment_of(i), &one, 1, 0);
    }
  }
  for (k = 0; k < EARLY; k++) gex_Event_Wait(events[k]);
  for (k = 0; k < EARLY; k++) CHECK_EQUAL(words[k], k + 1);
  for (k = 0; k < 8192 + EARLY; k++) gex_Coll_BarrierBlocking(world, 0);
}

static void waits(const void *x, void *y, size_t count, const void *cdata) {
  (void)x, (void)y, (void)count, (void)cdata;
  gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
}

static void mistake(const char *which) {
  int32_t word = 1, result[4];
  gex_Event_t e = GEX_EVENT_INVALID;
  if (!strcmp(which, "root")) e = gex_Coll_BroadcastNB(world, size, result, &word, 4, 0);
  if (!strcmp(which, "nothing")) e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_I32, 4, 0, GEX_OP_ADD, NULL, NULL, 0);
  if (!strcmp(which, "size")) e = gex_Coll_ReduceToOneNB(world, 0, result, &word, GEX_DT_DBL, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
  if (!strcmp(which, "float")) e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_FLT, 4, 1, GEX_OP_XOR, NULL, NULL, 0);
  if (!strcmp(which, "operator")) e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_I32, 4, 1, GEX_OP_SUB, NULL, NULL, 0);
  if (!strcmp(which, "no-function")) e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_I32, 4, 1, GEX_OP_USER, NULL, NULL, 0);
  if (!strcmp(which, "user")) e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_USER, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
  if (!strcmp(which, "differ"))
    e = me ? gex_Coll_BarrierNB(world, 0)
           : gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_I32, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
  if (!strcmp(which, "sizes")) {
    char *many = (char *)calloc(3, 20000);
    e = gex_Coll_BroadcastNB(world, 0, many, many, me ? 20000 : 30000, 0);
  }
  if (!strcmp(which, "inside")) {
    e = gex_Coll_ReduceToAllNB(world, result, &word, GEX_DT_I32, 4, 1, GEX_OP_USER, waits, NULL, 0);
  }
  gex_Event_Wait(e);
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  gex_TM_t teams[3];
  int round;
  OK(gex_Client_Init(&client, &ep, &world, "EX_COLLECTIVES", &argc, &argv, 0));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  OK(gex_Segment_Attach(&segment, world, 1 << 20));
  if (argc > 1 && !(argv[1][0] >= '0' && argv[1][0] <= '9')) mistake(argv[1]);
  shared = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 1000;
  if (me == 0) printf("seed %s\n", argc > 1 ? argv[1] : "1");
  teams[0] = world;
  (void)gex_TM_Split(&teams[1], world, 0, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  program(teams, 2, 400);
  /* members of different teams may draw differently */
  (void)gex_TM_Split(&teams[2], world, (int)(me % 2), 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  for (round = 0; round < 3; round++) {
    const uint64_t before = shared;
    shared += me % 2;
    program(&teams[2], 1, 60);
    shared = before + 1000;
    program(teams, 2, 40);
  }
  {
    /* a function on a type of ours */
    int32_t mine = (int32_t)me + 1, sum = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, &sum, &mine, GEX_DT_I32, 4, 1, GEX_OP_USER, combine_i32, NULL, 0));
    CHECK_EQUAL(sum, size * (size + 1) / 2);
  }
  rounding();
  large();
  long_after((char *)gex_Segment_QueryAddr(segment));
  gex_Coll_BarrierBlocking(world, 0);
  (void)gex_TM_Destroy(teams[2], NULL, 0);
  (void)gex_TM_Destroy(teams[1], NULL, 0);
  finish();
  return 0;
}
