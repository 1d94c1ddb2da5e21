// GASNet-EX transfers of pieces: random vector, indexed and strided ones, forwards, backwards and turned, in all forms, against an oracle; pieces
// of nothing; the completion handler of the peer; and mistakes.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// run: 1 2 4 | says passed
// run: 3 | args 9 | env GASNET_CHECK=1 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 4 | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 1 | args bytes | status 134 | says gex_VIS_VectorPutBlocking: source and destination have different numbers of bytes
// run: 1 | args outside | env GASNET_CHECK=1 | status 134 | says gex_VIS_StridedPutBlocking: pieces from address 0x | says are outside the segment of node 0
// run: 1 | args rank | status 134 | says gex_VIS_StridedGetNB: there is no rank 1: the team has 1 ranks
// run: 1 | args payload | status 134 | says gex_VIS_SetPeerCompletionHandler: a payload of 128 bytes; the most is 127
#include <gasnet_vis.h>

#include "check.h"

#define ROOM 65536
#define PIECES 64

static gex_TM_t world, tm;
static gex_Rank_t me, size;
static uint64_t state;
static char *segments[1024];

static size_t draw(size_t below) {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (size_t)((x ^ (x >> 31)) % below);
}

/* Pieces that do not overlap, in any order, of so many bytes together: where the k-th byte is goes to `place`. */
static size_t vector(gex_Memvec_t *list, char *base, size_t bytes, size_t *place) {
  size_t n = 0, at = 0, left = bytes, i, k = 0, b;
  while (left > 0 && n < PIECES - 1) {
    size_t len = draw(5) == 0 ? 0 : 1 + draw(2 * bytes / PIECES + 9);
    if (len > left) len = left;
    at += draw(12);
    list[n].gex_addr = base + at;
    list[n++].gex_len = len;
    at += len;
    left -= len;
  }
  list[n].gex_addr = base + at + 5;
  list[n++].gex_len = left;
  for (i = n; i > 1; i--) {
    const size_t other = draw(i);
    const gex_Memvec_t swap = list[i - 1];
    list[i - 1] = list[other];
    list[other] = swap;
  }
  for (i = 0; i < n; i++)
    for (b = 0; b < list[i].gex_len; b++) place[k++] = (size_t)((char *)list[i].gex_addr - base) + b;
  return n;
}

static void indexed(void **list, char *base, size_t n, size_t len, size_t *place) {
  size_t i, at = 0, k = 0, b;
  for (i = 0; i < n; i++) {
    at += draw(9);
    list[i] = base + at;
    at += len;
  }
  for (i = n; i > 1; i--) {
    const size_t other = draw(i);
    void *const swap = list[i - 1];
    list[i - 1] = list[other];
    list[other] = swap;
  }
  for (i = 0; i < n; i++)
    for (b = 0; b < len; b++) place[k++] = (size_t)((char *)list[i] - base) + b;
}

#define LEVELS 4
/* A box: dimensions lie in any order, some backwards. Returns where the first element is. */
static char *strided(ptrdiff_t *strides, char *base, size_t elemsz, const size_t *count, size_t levels, size_t *place) {
  size_t order[LEVELS], i, extent = elemsz, k = 0, b, index[LEVELS] = { 0, 0, 0, 0 };
  ptrdiff_t first = 0;
  for (i = 0; i < levels; i++) order[i] = i;
  for (i = levels; i > 1; i--) {
    const size_t other = draw(i), swap = order[i - 1];
    order[i - 1] = order[other];
    order[other] = swap;
  }
  for (i = 0; i < levels; i++) {
    const size_t d = order[i];
    extent += draw(2) ? 0 : draw(5);
    strides[d] = (ptrdiff_t)extent;
    if (count[d] > 0 && draw(3) == 0) {
      first += strides[d] * (ptrdiff_t)(count[d] - 1);
      strides[d] = -strides[d];
    }
    extent *= count[d] ? count[d] : 1;
  }
  for (i = 0; i < levels; i++)
    if (count[i] == 0) return base + first;
  for (;;) {
    ptrdiff_t at = first;
    for (i = 0; i < levels; i++) at += strides[i] * (ptrdiff_t)index[i];
    for (b = 0; b < elemsz; b++) place[k++] = (size_t)at + b;
    for (i = 0; i < levels && ++index[i] == count[i]; i++) index[i] = 0;
    if (i == levels) return base + first;
  }
}

static int told;
static gex_Rank_t told_by;
static unsigned char told_bytes[GEX_VIS_MAX_PEERCOMPLETION];
static size_t told_size, told_at;
static int told_is_reply, told_data;

static void tell(gex_Token_t token, void *buf, size_t nbytes) {
  gex_Token_Info_t info;
  (void)gex_Token_Info(token, &info, GEX_TI_ALL);
  told_by = info.gex_srcrank;
  told_is_reply = !info.gex_is_req && !info.gex_is_long;
  memcpy(told_bytes, buf, nbytes);
  told_size = nbytes;
  /* the data is there */
  told_data = segments[me][told_at];
  told++;
}

static char mine[ROOM], before[ROOM], image[ROOM], expected[ROOM], seen[ROOM];
static size_t there[ROOM], here[ROOM];

/* waits for an operation in the form that it was started in; where the sources are free earlier, writes to them */
static void complete(int form, gex_Event_t event, gex_EC_t category, gex_Flags_t flags) {
  const int early = (flags & GEX_FLAG_ENABLE_LEAF_LC) != 0;
  if (form == 3) event = gex_NBI_EndAccessRegion(0);
  if (early && form != 0) {
    if (form == 2) gex_NBI_Wait(GEX_EC_LC, 0);
    else gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_LC));
    memset(mine, 0x77, ROOM);
  }
  if (form == 2) gex_NBI_Wait(category, 0);
  else gex_Event_Wait(event);
}

#define FORMS(name, args)                                        \
  do {                                                           \
    if (form == 3) gex_NBI_BeginAccessRegion(0);                 \
    if (form == 0) CHECK_EQUAL(gex_VIS_##name##Blocking args, 0); \
    if (form == 1) event = gex_VIS_##name##NB args;              \
    if (form >= 2) CHECK_EQUAL(gex_VIS_##name##NBI args, 0);     \
    complete(form, event, category, flags);                           \
  } while (0)

static void round_of(int round) {
  const gex_Rank_t to = (gex_Rank_t)draw(gex_TM_QuerySize(tm));
  const gex_Rank_t job = gex_TM_TranslateRankToJobrank(tm, to);
  const int put = (int)draw(2), kind = (int)draw(3), form = (int)draw(4);
  const gex_EC_t category = put ? GEX_EC_PUT : GEX_EC_GET;
  const gex_Flags_t flags = put && draw(2) ? GEX_FLAG_ENABLE_LEAF_LC : 0;
  char *remote = segments[job] + me * ROOM, *local = mine;
  gex_Event_t event = GEX_EVENT_INVALID;
  size_t total = 0, i;
  for (i = 0; i < ROOM; i++) {
    mine[i] = (char)(i * 7 + (size_t)round);
    image[i] = (char)(i * 13 + 1 + (size_t)round);
  }
  memcpy(before, mine, ROOM);
  gex_Event_Wait(gex_RMA_PutNB(tm, to, remote, image, ROOM, GEX_EVENT_DEFER, 0));
  if (kind == 0) {
    gex_Memvec_t far[PIECES], near[PIECES];
    size_t fars, nears;
    total = draw(6) ? draw(1500) : draw(30000);
    fars = vector(far, remote, total, there);
    nears = vector(near, local, total, here);
    if (put) FORMS(VectorPut, (tm, to, fars, far, nears, near, flags));
    else FORMS(VectorGet, (tm, nears, near, to, fars, far, 0));
  } else if (kind == 1) {
    void *far[PIECES], *near[PIECES];
    const size_t most = draw(6) ? 60 : 700, each = draw(most), k = draw(8), other = 1 + draw(8);
    /* k * other pieces of `each` bytes there are k pieces of `other` times as many here */
    total = each * k * other;
    indexed(far, remote, k * other, each, there);
    indexed(near, local, k, each * other, here);
    if (put) FORMS(IndexedPut, (tm, to, k * other, far, each, k, near, each * other, flags));
    else FORMS(IndexedGet, (tm, k, near, each * other, to, k * other, far, each, 0));
  } else {
    ptrdiff_t far[LEVELS], near[LEVELS];
    size_t count[LEVELS], levels = draw(LEVELS + 1), elemsz = draw(8) ? 1 + draw(16) : draw(2) * 5000;
    char *far_at, *near_at;
    total = elemsz;
    for (i = 0; i < levels; i++) total *= count[i] = draw(12) ? 1 + draw(elemsz > 100 ? 2 : 6) : draw(2);
    if (2 * total > ROOM) return;
    if (elemsz == 0) total = 0;
    far_at = strided(far, remote, elemsz, count, levels, there);
    near_at = strided(near, local, elemsz, count, levels, here);
    if (put) FORMS(StridedPut, (tm, to, far_at, far, near_at, near, elemsz, count, levels, flags));
    else FORMS(StridedGet, (tm, near_at, near, to, far_at, far, elemsz, count, levels, 0));
  }
  for (i = 0; i < ROOM; i++) expected[i] = put ? image[i] : (char)(i * 7 + (size_t)round);
  for (i = 0; i < total; i++) {
    if (put) expected[there[i]] = before[here[i]];
    else expected[here[i]] = image[there[i]];
  }
  gex_Event_Wait(gex_RMA_GetNB(tm, seen, to, remote, ROOM, 0));
  if (memcmp(put ? seen : mine, expected, ROOM) != 0) {
    check_failures++;
    printf("ERROR: rank %d: round %d, put %d, kind %d, form %d, %d bytes\n", (int)me, round, put, kind, form, (int)total);
  }
}

/* Lists of equal pieces, of every length that has a way of its own, few and many; of vectors also the last two of other lengths. */
static void lists(void) {
  static const size_t counts[] = { 1, 2, 3, 64, 65, 130 }, lengths[] = { 1, 8, 16, 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 129, 250 };
  const gex_Rank_t to = (me + 1) % size;
  char *const remote = segments[to] + me * ROOM;
  size_t c, l, i, b;
  int kind;
  for (c = 0; c < sizeof(counts) / sizeof(*counts); c++)
    for (l = 0; l < sizeof(lengths) / sizeof(*lengths); l++)
      for (kind = 0; kind < 6; kind++) {
        const size_t n = counts[c], len = lengths[l], gap = len + 3;
        const int put = kind & 1, uneven = kind >= 4 && n > 1;
        void *far[130], *near[130];
        gex_Memvec_t far_v[130], near_v[130];
        for (i = 0; i < ROOM; i++) mine[i] = (char)(i * 7 + l), image[i] = (char)(i * 13 + c + 1);
        memcpy(expected, put ? image : mine, ROOM);
        gex_Event_Wait(gex_RMA_PutNB(world, to, remote, image, ROOM, GEX_EVENT_DEFER, 0));
        for (i = 0; i < n; i++) {
          /* there in the other order */
          far_v[i].gex_addr = far[i] = remote + (n - 1 - i) * gap;
          near_v[i].gex_addr = near[i] = mine + 1 + i * (gap + i % 2);
          far_v[i].gex_len = near_v[i].gex_len = len;
        }
        if (uneven) far_v[n - 2].gex_len++, near_v[n - 1].gex_len++;
        if (kind < 2) {
          if (put) gex_VIS_IndexedPutBlocking(world, to, n, far, len, n, near, len, 0);
          else gex_VIS_IndexedGetBlocking(world, n, near, len, to, n, far, len, 0);
        } else if (put) gex_VIS_VectorPutBlocking(world, to, n, far_v, n, near_v, 0);
        else gex_VIS_VectorGetBlocking(world, n, near_v, to, n, far_v, 0);
        {
          size_t x = 0, y = 0, j = 0;
          for (i = 0; i < n; i++)
            for (b = 0; b < far_v[i].gex_len; b++) {
              const size_t at = (size_t)((char *)far_v[i].gex_addr - remote) + b;
              while (y == near_v[j].gex_len) j++, y = 0;
              x = (size_t)((char *)near_v[j].gex_addr - mine) + y++;
              if (put) expected[at] = mine[x];
              else expected[x] = image[at];
            }
        }
        gex_Event_Wait(gex_RMA_GetNB(world, seen, to, remote, ROOM, 0));
        if (memcmp(put ? seen : mine, expected, ROOM) != 0) {
          check_failures++;
          printf("ERROR: rank %d: lists of kind %d, %d pieces of %d bytes\n", (int)me, kind, (int)n, (int)len);
        }
      }
}

/* A put to the right neighbour whose completion is told there. */
static void peer_completion(void) {
  const gex_Rank_t to = (me + 1) % size;
  char payload[GEX_VIS_MAX_PEERCOMPLETION];
  size_t n, i;
  int want = 0;
  for (n = 0; n <= sizeof(payload); n += n < 3 ? 1 : 31) {
    gex_Memvec_t from = { mine, 300 }, into = { segments[to], 300 };
    const ptrdiff_t stride = 3;
    const size_t count = 40;
    told_at = n % 2 ? 299 : 117;
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    memset(mine, (int)n + 1, 300);
    for (i = 0; i < n; i++) payload[i] = (char)(i + me);
    if (n == 1) {
      gex_VIS_SetPeerCompletionHandler(240, payload, n, 0);
      gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0);
      (void)gex_VIS_VectorPutBlocking(world, to, 1, &into, 1, &from, 0);
    }
    gex_VIS_SetPeerCompletionHandler(240, payload, n, 0);
    memset(payload, 0, sizeof(payload));
    if (n % 2) {
      gex_Event_Wait(gex_VIS_VectorPutNB(world, to, 1, &into, 1, &from, 0));
    } else {
      (void)gex_VIS_StridedPutNBI(world, to, segments[to], &stride, mine, &stride, 3, &count, 1, 0);
      gex_NBI_Wait(GEX_EC_PUT, 0);
    }
    /* only the next put is told of */
    (void)gex_VIS_VectorPutBlocking(world, to, 1, &into, 1, &from, 0);
    want++;
    GASNET_BLOCKUNTIL(told == want);
    CHECK_EQUAL(told_by, (me + size - 1) % size);
    CHECK(told_is_reply && told_data == (char)(n + 1));
    CHECK_EQUAL(told_size, n);
    for (i = 0; i < n; i++) CHECK(told_bytes[i] == (unsigned char)(i + told_by));
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
  }
}

static void mistake(const char *which) {
  gex_Memvec_t some = { segments[0], 8 }, more = { mine, 9 };
  ptrdiff_t stride = 8;
  size_t count = 2;
  if (!strcmp(which, "bytes")) gex_VIS_VectorPutBlocking(world, 0, 1, &some, 1, &more, 0);
  if (!strcmp(which, "outside"))
    gex_VIS_StridedPutBlocking(world, 0, segments[0] - 16, &stride, mine, &stride, 8, &count, 1, 0);
  if (!strcmp(which, "rank"))
    gex_Event_Wait(gex_VIS_StridedGetNB(world, mine, &stride, 1, segments[0], &stride, 8, &count, 1, 0));
  if (!strcmp(which, "payload")) gex_VIS_SetPeerCompletionHandler(240, mine, 128, 0);
}

int main(int argc, char **argv) {
  gex_AM_Entry_t handlers[] = { { 240, (gex_AM_Fn_t)tell, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL } };
  gex_Client_t client;
  gex_EP_t ep;
  gex_Segment_t segment;
  gex_Rank_t i;
  int round;
  OK(gex_Client_Init(&client, &ep, &world, "EX_PIECES", &argc, &argv, 0));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  OK(gex_EP_RegisterHandlers(ep, handlers, 1));
  OK(gex_Segment_Attach(&segment, world, 1 << 20));
  for (i = 0; i < size; i++) segments[i] = segment_of(i);
  if (argc > 1 && !(argv[1][0] >= '0' && argv[1][0] <= '9')) mistake(argv[1]);
  state = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 1000 + me;
  if (me == 0) printf("seed %s\n", argc > 1 ? argv[1] : "1");
  (void)gex_TM_Split(&tm, world, 0, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  for (round = 0; round < 250; round++) round_of(round);
  gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
  lists();
  gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
  peer_completion();
  finish();
  return 0;
}
