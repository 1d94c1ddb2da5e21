// GASNet-EX: random programs. A seed says what each rank does, so each rank keeps a model of everybody's memory, byte by byte, and compares its
// own with it: puts, gets, messages, pieces and atomic operations in all forms, by several threads, and collective operations over teams
// that change. Arguments: seed, phases, threads (in mode par).
// mode: seq par
// run: 1 2 | args 1 6 | says passed
// run: 3 | args 2 6 | env GASNET_CHECK=1 | says passed
// run: 4 | args 3 6 | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 3 | args 4 4 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 3 | args 7 6 3 | says passed
// run: 3 | args 8 4 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 3 | args 5 4 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 2 | args 6 4 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=netvm | says passed
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include <pthread.h>
#include <time.h>

#include "check.h"

/* How it works. In a phase each thread of each rank is an *actor*: it owns a slice of every segment, and words of it; nobody else touches them
 * until the barrier. It starts operations on ranges that do not meet, completes them all, and begins again. What it draws decides what it
 * does; each rank draws for all other actors too, and does what they do to the models. What has no effect on memory (how to wait, by which
 * team) comes from `chance`. */
#define MOST_RANKS 8
#define MOST_THREADS 3
#define DATA ((size_t)512 << 10)
#define LOCAL ((size_t)256 << 10)
#define WORDS 64 /* of each type, for the domain of all ranks, and as many for a team's */
#define TYPES 6
#define LISTS 64
#define BYTES 4096

typedef struct {
  unsigned char data[DATA];
  uint64_t words[2][TYPES][WORDS]; /* the word of a 32-bit type is the first half */
  uint64_t shared;
} memory_t;
typedef struct {
  memory_t segment;
  unsigned char local[LOCAL];
  /* requests that it got from each rank */
  uint64_t got[MOST_RANKS];
} model_t;

static model_t model[MOST_RANKS];
static unsigned char mine[LOCAL] __attribute__((__aligned__(16)));
static gex_EP_t ep;
static gex_TM_t world;
static gex_Rank_t me, size;
static memory_t *segments[MOST_RANKS];
static uint64_t seed, phase;

static gex_Rank_t threads = 1;

static __thread uint64_t draws, chances;
static uint64_t next(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static size_t draw(size_t below) { return (size_t)(next(&draws) % below); }
static size_t chance(size_t below) { return (size_t)(next(&chances) % below); }
static uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t state = a * 0x9e3779b97f4a7c15u ^ b;
  return next(&state);
}

/* ---- who did it ------------------------------------------------------------------------------------------- */
static char notes[8192][64];
static uint32_t notings, last[DATA], last_local[LOCAL];
static __thread uint32_t noted;
#define NOTE(...) \
  (noted = __atomic_add_fetch(&notings, 1, __ATOMIC_RELAXED) % 8192, (void)snprintf(notes[noted], sizeof(notes[0]), __VA_ARGS__))
static void wrong(const char *what, size_t at, int is, int expected, const char *by) {
  check_failures++;
  printf("ERROR: node %d: seed %llu, phase %llu: byte %lu of %s is %#x, not %#x; last there: %s\n", (int)me,
         (unsigned long long)seed, (unsigned long long)phase, (unsigned long)at, what, is, expected, by);
  fflush(stdout);
}
static void compare(const char *what, const unsigned char *is, const unsigned char *expected, size_t n, const uint32_t *by) {
  size_t i;
  if (memcmp(is, expected, n) == 0) return;
  for (i = 0; is[i] == expected[i];) i++;
  wrong(what, i, is[i], expected[i], by ? notes[by[i]] : "an atomic operation");
}
/* Ends the program here: what follows from a mistake would only hide it. */
static void stop_if_wrong(void) {
  if (check_failures) gasnet_exit(1);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */
/* The actor whose part is drawn now, its rank, and whether it is this very thread; what of its slices and words is taken. */
static __thread gex_Rank_t actor, who;
static __thread int real;
static size_t slice, local_part;
static __thread size_t used[MOST_RANKS], used_local, used_words[2][TYPES][MOST_RANKS];
static gex_Rank_t actors(void) { return size * threads; }
static size_t slice_at(void) { return ((actor + phase) % actors()) * slice; }
static size_t local_at(void) { return actor % threads * local_part; }
/* A range of so many bytes, or -1 if there is none left. */
static long range_at(gex_Rank_t target, size_t n) {
  const size_t at = used[target] + draw(9);
  if (at + n > slice) return -1;
  used[target] = at + n;
  return (long)(slice_at() + at);
}
static long local_range(size_t n) {
  const size_t at = used_local + draw(9);
  if (at + n > local_part) return -1;
  used_local = at + n;
  return (long)(local_at() + at);
}
static unsigned char pattern(uint64_t from, size_t i) { return (unsigned char)(mixed(from, i >> 3) >> (8 * (i & 7))); }
/* Writes to local memory, as the program does. */
static void write_local(size_t at, size_t n, uint64_t from) {
  size_t i;
  for (i = 0; i < n; i++) {
    const unsigned char byte = pattern(from, i);
    model[who].local[at + i] = byte;
    if (real) mine[at + i] = byte;
    if (real) last_local[at + i] = noted;
  }
}
static void put_in_model(gex_Rank_t to, size_t at, size_t from, size_t n) {
  size_t i;
  memcpy(model[to].segment.data + at, model[who].local + from, n);
  if (to == me)
    for (i = 0; i < n; i++) last[at + i] = noted;
}
static void get_in_model(size_t to, gex_Rank_t source, size_t at, size_t n) {
  size_t i;
  memcpy(model[who].local + to, model[source].segment.data + at, n);
  if (real)
    for (i = 0; i < n; i++) last_local[to + i] = noted;
}
static size_t some_size(void) {
  switch (draw(8)) {
    case 0: return 0;
    case 1: return (size_t)1 << draw(4);
    case 2: return 1 + draw(16);
    case 3: return 60 + draw(10);
    case 4: return 4090 + draw(12);
    case 5: return draw(30) ? draw(3000) : 60000 + draw(20000);
    default: return draw(300);
  }
}

/* ---- teams --------------------------------------------------------------------------------------------------------- */
enum { SPLITS = 2 };
static struct {
  gex_TM_t tm; /* GEX_TM_INVALID: this rank is in none */
  gex_Rank_t n, ranks[MOST_RANKS];
} teams[1 + SPLITS];
static uint64_t team_of(int split, gex_Rank_t rank, uint64_t round) { return mixed(seed ^ (uint64_t)(split + 1), round * 64 + rank); }
static void make_teams(uint64_t round) {
  int k;
  gex_Rank_t i, j;
  for (k = 0; k < SPLITS; k++) {
    const uint64_t own = team_of(k, me, round);
    const int color = (int)(own % 3), key = (int)(own >> 8 & 3) - 2;
    gex_TM_t *const to = own >> 16 & 7 ? &teams[1 + k].tm : NULL;
    gex_TM_Split(to, world, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    teams[1 + k].n = 0;
    if (to == NULL) {
      teams[1 + k].tm = GEX_TM_INVALID;
      continue;
    }
    for (i = 0; i < size; i++) {
      const uint64_t other = team_of(k, i, round);
      if (!(other >> 16 & 7) || (int)(other % 3) != color) continue;
      for (j = teams[1 + k].n++; j > 0 && (team_of(k, teams[1 + k].ranks[j - 1], round) >> 8 & 3) > (other >> 8 & 3); j--)
        teams[1 + k].ranks[j] = teams[1 + k].ranks[j - 1];
      teams[1 + k].ranks[j] = i;
    }
    CHECK_EQUAL(gex_TM_QuerySize(*to), teams[1 + k].n);
    for (i = 0; i < teams[1 + k].n; i++) CHECK_EQUAL(gex_TM_TranslateRankToJobrank(*to, i), teams[1 + k].ranks[i]);
  }
}
static void end_teams(void) {
  int k;
  for (k = 1; k <= SPLITS; k++)
    if (teams[k].tm != GEX_TM_INVALID) CHECK_EQUAL(gex_TM_Destroy(teams[k].tm, NULL, 0), 0);
}
static gex_Rank_t rank_in(int k, gex_Rank_t jobrank) {
  gex_Rank_t i;
  for (i = 0; i < teams[k].n && teams[k].ranks[i] != jobrank;) i++;
  return i < teams[k].n ? i : GEX_RANK_INVALID;
}
/* Some team, or a pair, that the rank is in; and its rank there. */
static gex_TM_t by(gex_Rank_t *rank) {
  const int k = (int)chance(2 + SPLITS);
  if (k == 1 + SPLITS) return gex_TM_Pair(ep, 0);
  if (k > 0 && teams[k].tm != GEX_TM_INVALID && rank_in(k, *rank) != GEX_RANK_INVALID) {
    *rank = rank_in(k, *rank);
    return teams[k].tm;
  }
  return world;
}

/* ---- what is under way -------------------------------------------------------------------------------------------------- */
typedef struct {
  gex_Event_t root, leaf; /* GEX_EVENT_INVALID: none, or done */
  /* the source, which is written to as soon as it is free */
  size_t source, n;
  uint64_t scribble;
  /* what an atomic operation has to yield */
  uint64_t result, expected;
  size_t width;
  uint32_t note;
} pending_t;
#define MOST 256
static __thread pending_t pending[MOST];
static __thread size_t pendings;
static __thread int in_region, implicit;
static __thread void *lists[4 * MOST];
static __thread size_t listed;
static uint64_t wanted[MOST_THREADS]; /* replies, of each thread */
static volatile uint64_t answered[MOST_THREADS], arrived[MOST_RANKS];

static void *keep(size_t bytes) { return lists[listed++] = malloc(bytes ? bytes : 1); }
static pending_t *add(void) {
  pending_t *const p = &pending[pendings++];
  memset(p, 0, sizeof(*p));
  p->note = noted;
  return p;
}
static void is_free(const pending_t *p) {
  if (p->scribble) {
    noted = p->note;
    write_local(p->source, p->n, p->scribble);
  }
}
/* Until it is done: with the flag first, a few times, polling between. */
#define TRY(flags, done)                                     \
  do {                                                       \
    int tries_ = chance(4) ? 0 : 1 + (int)chance(20);        \
    for (; tries_ > 0; tries_--) {                           \
      flags |= GEX_FLAG_IMMEDIATE;                           \
      if (done) break;                                       \
      (void)gasnet_AMPoll();                                 \
    }                                                        \
    flags &= ~(gex_Flags_t)GEX_FLAG_IMMEDIATE;               \
    if (tries_ == 0) CHECK(done);                            \
  } while (0)

static void wait_for_one(gex_Event_t *event) {
  switch (chance(3)) {
    case 0: gex_Event_Wait(*event); break;
    case 1:
      while (gex_Event_Test(*event)) (void)gasnet_AMPoll();
      break;
    default: gex_Event_WaitAll(event, 1, 0);
  }
  *event = GEX_EVENT_INVALID;
}
static void wait_for_events(void) {
  gex_Event_t events[2 * MOST];
  size_t order[MOST], i, n = 0;
  for (i = 0; i < pendings; i++) order[i] = i;
  for (i = pendings; i > 1; i--) {
    const size_t other = chance(i), swap = order[i - 1];
    order[i - 1] = order[other];
    order[other] = swap;
  }
  switch (chance(3)) {
    case 0:
      for (i = 0; i < pendings; i++) {
        pending_t *const p = &pending[order[i]];
        if (p->leaf != GEX_EVENT_INVALID && chance(4)) {
          wait_for_one(&p->leaf);
          is_free(p);
          p->scribble = 0;
        }
        wait_for_one(&p->root);
      }
      return;
    case 1:
    default:
      for (i = 0; i < pendings; i++) {
        events[n++] = pending[order[i]].root;
        if (chance(2)) events[n++] = pending[order[i]].leaf;
      }
      if (chance(2)) {
        gex_Event_WaitAll(events, n, 0);
      } else {
        while (gex_Event_TestAll(events, n, 0)) {
          if (chance(2)) gex_Event_WaitSome(events, n, 0);
          else if (gex_Event_TestSome(events, n, 0)) (void)gasnet_AMPoll();
        }
      }
      for (i = 0; i < n; i++) CHECK(events[i] == GEX_EVENT_INVALID);
  }
}
/* Completes all that the rank has started; compares what it got. */
static void complete(void) {
  size_t i;
  if (real) {
    if (implicit && chance(2)) {
      gex_NBI_Wait(GEX_EC_LC, 0);
      gex_NBI_Wait(GEX_EC_GET | GEX_EC_RMW, 0);
    }
    wait_for_events();
    if (implicit) {
      if (chance(2)) gex_NBI_Wait(GEX_EC_ALL, 0);
      else
        while (gex_NBI_Test(GEX_EC_ALL, 0)) (void)gasnet_AMPoll();
    }
    GASNET_BLOCKUNTIL(answered[actor % threads] >= wanted[actor % threads]);
    CHECK_EQUAL(answered[actor % threads], wanted[actor % threads]);
  }
  for (i = 0; i < pendings; i++) {
    is_free(&pending[i]);
    if (real && pending[i].width && memcmp(&pending[i].result, &pending[i].expected, pending[i].width)) {
      CHECK(!"the result of an atomic operation");
      wrong("a result", i, (int)pending[i].result, (int)pending[i].expected, notes[pending[i].note]);
    }
  }
  pendings = 0;
  implicit = 0;
  while (listed > 0) free(lists[--listed]);
  if (real) {
    const size_t at = local_at();
    compare("local memory", mine + at, model[me].local + at, local_part, last_local + at);
  }
  stop_if_wrong();
}

/* ---- puts and gets ----------------------------------------------------------------------------------------------------------- */
enum { BLOCKING, EVENT, IMPLICIT };
static const char *const FORMS[] = { "blocking", "NB", "NBI" };
static int some_form(void) { return in_region ? IMPLICIT : (int)draw(3); }
static uint64_t value_of(const unsigned char *from, size_t n) {
  uint64_t value = 0;
#if PLATFORM_ARCH_BIG_ENDIAN
  memcpy((char *)&value + 8 - n, from, n);
#else
  memcpy(&value, from, n);
#endif
  return value;
}
static void put(gex_Rank_t to) {
  const int form = some_form(), value = draw(6) == 0;
  const size_t n = value ? 1 + draw(8) : some_size();
  const long at = range_at(to, n), from = local_range(n);
  const int local = (int)draw(3); /* NOW, DEFER, and a leaf or the group */
  const uint64_t scribble = 1 + draw(1000), content = mixed(seed, draw(100000));
  gex_Rank_t rank = to;
  gex_Flags_t flags = 0;
  pending_t *p;
  if (at < 0 || from < 0) return;
  NOTE("%s put by %d to %d of %lu bytes", FORMS[form], (int)who, (int)to, (unsigned long)n);
  write_local((size_t)from, n, content);
  put_in_model(to, (size_t)at, (size_t)from, n);
  p = add();
  p->source = (size_t)from;
  p->n = n;
  p->scribble = scribble;
  if (real) {
    const gex_TM_t tm = by(&rank);
    void *const dest = segments[to]->data + at;
    const unsigned char *const src = mine + from;
    if (value) {
      gex_RMA_Value_t v = value_of(src, n);
      if (form == BLOCKING) TRY(flags, !gex_RMA_PutBlockingVal(tm, rank, dest, v, n, flags));
      else if (form == IMPLICIT) TRY(flags, !gex_RMA_PutNBIVal(tm, rank, dest, v, n, flags));
      else TRY(flags, (p->root = gex_RMA_PutNBVal(tm, rank, dest, v, n, flags)) != GEX_EVENT_NO_OP);
    } else if (form == BLOCKING) {
      TRY(flags, !gex_RMA_PutBlocking(tm, rank, dest, src, n, flags));
    } else if (form == IMPLICIT) {
      gex_Event_t *const lc = local == 0 ? GEX_EVENT_NOW : local == 1 ? GEX_EVENT_DEFER : GEX_EVENT_GROUP;
      TRY(flags, !gex_RMA_PutNBI(tm, rank, dest, src, n, lc, flags));
    } else {
      gex_Event_t leaf = GEX_EVENT_INVALID;
      gex_Event_t *const lc = local == 0 ? GEX_EVENT_NOW : local == 1 ? GEX_EVENT_DEFER : &leaf;
      TRY(flags, (p->root = gex_RMA_PutNB(tm, rank, dest, src, n, lc, flags)) != GEX_EVENT_NO_OP);
      p->leaf = leaf;
    }
  }
  implicit |= form == IMPLICIT;
  if (form == BLOCKING || local == 0 || value) {
    is_free(p);
    p->scribble = 0;
  }
}
static void get(gex_Rank_t from) {
  const int form = some_form(), value = form == BLOCKING && draw(3) == 0;
  const size_t n = value ? 1 + draw(8) : some_size();
  const long at = range_at(from, n), to = local_range(n);
  gex_Rank_t rank = from;
  gex_Flags_t flags = 0;
  pending_t *p;
  if (at < 0 || to < 0) return;
  NOTE("%s get by %d from %d of %lu bytes", FORMS[form], (int)who, (int)from, (unsigned long)n);
  get_in_model((size_t)to, from, (size_t)at, n);
  p = add();
  implicit |= form == IMPLICIT;
  if (real) {
    const gex_TM_t tm = by(&rank);
    void *const src = segments[from]->data + at;
    unsigned char *const dest = mine + to;
    if (value) {
      const uint64_t v = gex_RMA_GetBlockingVal(tm, rank, src, n, 0);
      CHECK(v == value_of(model[me].local + to, n));
      memcpy(dest, model[me].local + to, n);
    } else if (form == BLOCKING) {
      TRY(flags, !gex_RMA_GetBlocking(tm, dest, rank, src, n, flags));
    } else if (form == IMPLICIT) {
      TRY(flags, !gex_RMA_GetNBI(tm, dest, rank, src, n, flags));
    } else {
      TRY(flags, (p->root = gex_RMA_GetNB(tm, dest, rank, src, n, flags)) != GEX_EVENT_NO_OP);
    }
  }
}

/* ---- pieces: where the k-th byte is goes to a list ------------------------------------------------------------------------- */
typedef struct {
  gex_Memvec_t vector[LISTS];
  void *list[LISTS];
  size_t n, len, extent;
  ptrdiff_t strides[3], first;
  size_t place[BYTES];
} side_t;
static void shuffle(size_t *order, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) order[i] = i;
  for (i = n; i > 1; i--) {
    const size_t other = draw(i), swap = order[i - 1];
    order[i - 1] = order[other];
    order[other] = swap;
  }
}
/* Equal pieces, or of any length, in any order; addresses are offsets for now. */
static void pieces(side_t *s, size_t n, size_t len, size_t total) {
  size_t order[LISTS], lens[LISTS], i, b, k = 0, at = 0;
  s->n = n;
  s->len = len;
  shuffle(order, n);
  for (i = 0; i < n; i++) {
    lens[i] = len;
    if (len == 0) lens[i] = i == n - 1 ? total : draw(4) ? draw(total + 1) : 0;
    if (len == 0) total -= lens[i];
  }
  for (i = 0; i < n; i++) {
    at += draw(10);
    s->vector[order[i]].gex_addr = (void *)(uintptr_t)at;
    s->vector[order[i]].gex_len = lens[order[i]];
    at += lens[order[i]];
  }
  s->extent = at;
  for (i = 0; i < n; i++)
    for (b = 0; b < s->vector[i].gex_len; b++) s->place[k++] = (size_t)(uintptr_t)s->vector[i].gex_addr + b;
}
static void box(side_t *s, size_t elemsz, const size_t *count, size_t levels) {
  size_t order[3], i, b, k = 0, index[3] = { 0, 0, 0 };
  s->extent = elemsz;
  s->first = 0;
  shuffle(order, levels);
  for (i = 0; i < levels; i++) {
    const size_t d = order[i];
    s->extent += draw(2) ? 0 : draw(5);
    s->strides[d] = (ptrdiff_t)s->extent;
    if (count[d] > 0 && draw(3) == 0) {
      s->first += s->strides[d] * (ptrdiff_t)(count[d] - 1);
      s->strides[d] = -s->strides[d];
    }
    s->extent *= count[d] ? count[d] : 1;
  }
  for (i = 0; i < levels; i++)
    if (count[i] == 0) return;
  do {
    ptrdiff_t at = s->first;
    for (i = 0; i < levels; i++) at += s->strides[i] * (ptrdiff_t)index[i];
    for (b = 0; b < elemsz; b++) s->place[k++] = (size_t)at + b;
    for (i = 0; i < levels && ++index[i] == count[i]; i++) index[i] = 0;
  } while (i < levels);
}
static void addresses(side_t *s, unsigned char *base) {
  size_t i;
  for (i = 0; i < s->n; i++) s->vector[i].gex_addr = s->list[i] = base + (uintptr_t)s->vector[i].gex_addr;
}
static void in_pieces(gex_Rank_t peer, int is_get) {
  static const char *const KINDS[] = { "vector", "indexed", "strided" };
  const int form = some_form(), kind = (int)draw(3), early = !is_get && draw(2);
  const uint64_t scribble = 1 + draw(1000), content = mixed(seed, draw(100000));
  side_t *const far = (side_t *)keep(sizeof(side_t)), *const near = (side_t *)keep(sizeof(side_t));
  size_t total, n, len = 0, count[3] = { 1, 1, 1 }, levels = 0, i;
  long at, here;
  gex_Rank_t rank = peer;
  gex_Flags_t flags = early ? GEX_FLAG_ENABLE_LEAF_LC : 0;
  pending_t *p;
  if (kind == 0) {
    total = draw(BYTES);
    pieces(far, 1 + draw(LISTS), 0, total);
    pieces(near, 1 + draw(LISTS), 0, total);
  } else if (kind == 1) {
    /* a pieces of b*c bytes there are a*b of c here, or the other way round */
    const size_t a = 1 + draw(8), b = 1 + draw(8), c = 1 + draw(BYTES / 64), turned = draw(2);
    total = a * b * c;
    pieces(far, turned ? a : a * b, turned ? b * c : c, total);
    pieces(near, turned ? a * b : a, turned ? c : b * c, total);
  } else {
    len = draw(10) ? (draw(2) ? (size_t)1 << draw(4) : 1 + draw(40)) : 0;
    levels = draw(4);
    for (i = 0, total = len; i < levels; i++) total *= count[i] = draw(12) ? 1 + draw(4) : 0;
    far->n = near->n = 0;
    box(far, len, count, levels);
    box(near, len, count, levels);
  }
  at = range_at(peer, far->extent);
  here = local_range(near->extent);
  if (at < 0 || here < 0) return;
  NOTE("%s %s %s by %d with %d of %lu bytes", FORMS[form], KINDS[kind], is_get ? "get" : "put", (int)who, (int)peer,
       (unsigned long)total);
  if (!is_get) write_local((size_t)here, near->extent, content);
  for (i = 0; i < total; i++) {
    if (is_get) get_in_model((size_t)here + near->place[i], peer, (size_t)at + far->place[i], 1);
    else put_in_model(peer, (size_t)at + far->place[i], (size_t)here + near->place[i], 1);
  }
  p = add();
  if (!is_get) {
    p->source = (size_t)here;
    p->n = near->extent;
    p->scribble = scribble;
  }
  implicit |= form == IMPLICIT;
  if (real) {
    const gex_TM_t tm = by(&rank);
    unsigned char *const there = segments[peer]->data + at + (kind == 2 ? far->first : 0);
    unsigned char *const local = mine + here + (kind == 2 ? near->first : 0);
    gex_Event_t root = GEX_EVENT_INVALID;
    addresses(far, there);
    addresses(near, local);
    n = near->n;
#define FORMS_OF(call_b, call_nb, call_nbi)                            \
  do {                                                                 \
    if (form == BLOCKING) TRY(flags, !(call_b));                       \
    else if (form == IMPLICIT) TRY(flags, !(call_nbi));                \
    else TRY(flags, (root = (call_nb)) != GEX_EVENT_NO_OP);            \
  } while (0)
#define VIS(name, args) FORMS_OF(gex_VIS_##name##Blocking args, gex_VIS_##name##NB args, gex_VIS_##name##NBI args)
    if (kind == 0 && is_get) VIS(VectorGet, (tm, n, near->vector, rank, far->n, far->vector, flags));
    else if (kind == 0) VIS(VectorPut, (tm, rank, far->n, far->vector, n, near->vector, flags));
    else if (kind == 1 && is_get) VIS(IndexedGet, (tm, n, near->list, near->len, rank, far->n, far->list, far->len, flags));
    else if (kind == 1) VIS(IndexedPut, (tm, rank, far->n, far->list, far->len, n, near->list, near->len, flags));
    else if (is_get) VIS(StridedGet, (tm, local, near->strides, rank, there, far->strides, len, count, levels, flags));
    else VIS(StridedPut, (tm, rank, there, far->strides, local, near->strides, len, count, levels, flags));
    p->root = root;
    if (early && form == EVENT) p->leaf = gex_Event_QueryLeaf(root, GEX_EC_LC);
  }
  if (form == BLOCKING) {
    is_free(p);
    p->scribble = 0;
  }
}

/* ---- atomic operations ------------------------------------------------------------------------------------------------------- */
#define ARITHMETIC                                                                                                       \
  (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_INC | GEX_OP_DEC | GEX_OP_SET | GEX_OP_CAS | \
   GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FMULT | GEX_OP_FMIN | GEX_OP_FMAX | GEX_OP_FINC | GEX_OP_FDEC | GEX_OP_SWAP |      \
   GEX_OP_FCAS | GEX_OP_GET)
#define BITS (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR | GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR)
static gex_AD_t domains[2][TYPES];
static void make_domains(int which, gex_TM_t tm) {
  int t;
  for (t = 0; t < TYPES; t++) gex_AD_Create(&domains[which][t], tm, (gex_DT_t)1 << t, t < 4 ? ARITHMETIC | BITS : ARITHMETIC, 0);
}
static void end_domains(int which) {
  int t;
  for (t = 0; t < TYPES; t++) gex_AD_Destroy(domains[which][t]);
}
static gex_OP_t some_op(int floating) {
  static const gex_OP_t plain[] = { GEX_OP_ADD, GEX_OP_SUB, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_INC,
                                    GEX_OP_DEC, GEX_OP_SET, GEX_OP_CAS,  GEX_OP_GET, GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR };
  const gex_OP_t op = plain[draw(floating ? 10 : 13)];
  return op != GEX_OP_GET && draw(2) ? GEX_OP_TO_FETCHING(op) : op;
}
/* Small numbers: those of floating types stay exact, and none is -0. */
#define ATOMIC(dt, T, U, INTEGER, B)                                                                                  \
  static void atomic_##dt(int which, int type, gex_Rank_t to, size_t w) {                                             \
    const int form = in_region || draw(2) ? IMPLICIT : EVENT;                                                         \
    const gex_OP_t drawn = some_op(type >= 4);                                                                        \
    const T a = (T)(1 + draw(50)), b = (T)(1 + draw(50));                                                             \
    T *const in_model = (T *)(void *)&model[to].segment.words[which][type][w];                                        \
    const T old = *in_model, first = drawn & (GEX_OP_CAS | GEX_OP_FCAS) && draw(2) ? old : a;                         \
    const gex_OP_t op = old > (T)1000000 || (type != 1 && type != 3 && old < (T)0 - (T)1000000) ? GEX_OP_SWAP : drawn; \
    const gex_OP_t plain = op == GEX_OP_GET ? op : op >= GEX_OP_FAND ? GEX_OP_TO_NONFETCHING(op) : op;                \
    T fresh = old;                                                                                                    \
    pending_t *const p = add();                                                                                       \
    if (plain == GEX_OP_ADD) fresh = (T)((U)old + (U)first);                                                          \
    if (plain == GEX_OP_SUB) fresh = (T)((U)old - (U)first);                                                          \
    if (plain == GEX_OP_MULT) fresh = (T)((U)old * (U)first);                                                         \
    if (plain == GEX_OP_MIN) fresh = old < first ? old : first;                                                       \
    if (plain == GEX_OP_MAX) fresh = old > first ? old : first;                                                       \
    if (plain == GEX_OP_INC) fresh = (T)((U)old + (U)1);                                                              \
    if (plain == GEX_OP_DEC) fresh = (T)((U)old - (U)1);                                                              \
    if (plain == GEX_OP_SET) fresh = first;                                                                           \
    if (plain == GEX_OP_CAS) fresh = old == first ? b : old;                                                          \
    INTEGER(if (plain == GEX_OP_AND) fresh = (T)((B)old & (B)first);                                                  \
            if (plain == GEX_OP_OR) fresh = (T)((B)old | (B)first);                                                   \
            if (plain == GEX_OP_XOR) fresh = (T)((B)old ^ (B)first);)                                                 \
    *in_model = fresh;                                                                                                \
    implicit |= form == IMPLICIT;                                                                                     \
    if (op >= GEX_OP_FAND) {                                                                                          \
      memcpy(&p->expected, &old, sizeof(T));                                                                          \
      p->width = sizeof(T);                                                                                           \
    }                                                                                                                 \
    if (real) {                                                                                                       \
      void *const at = &segments[to]->words[which][type][w];                                                          \
      T *const result = (T *)(void *)&p->result;                                                                      \
      gex_Rank_t rank = which ? rank_in(1, to) : to;                                                                  \
      gex_Flags_t flags = 0;                                                                                          \
      if (chance(2)) {                                                                                                \
        rank = to;                                                                                                    \
        flags = GEX_FLAG_RANK_IS_JOBRANK;                                                                             \
      }                                                                                                               \
      if (form == IMPLICIT) TRY(flags, !gex_AD_OpNBI_##dt(domains[which][type], result, rank, at, op, first, b, flags)); \
      else TRY(flags, (p->root = gex_AD_OpNB_##dt(domains[which][type], result, rank, at, op, first, b, flags)) !=    \
                          GEX_EVENT_NO_OP);                                                                           \
    }                                                                                                                 \
  }
#define YES(...) __VA_ARGS__
#define NO(...)
ATOMIC(I32, int32_t, uint32_t, YES, uint32_t)
ATOMIC(U32, uint32_t, uint32_t, YES, uint32_t)
ATOMIC(I64, int64_t, uint64_t, YES, uint64_t)
ATOMIC(U64, uint64_t, uint64_t, YES, uint64_t)
ATOMIC(FLT, float, float, NO, uint32_t)
ATOMIC(DBL, double, double, NO, uint64_t)

/* Whether the rank is in a team of the first split with the other; every rank knows. */
static uint64_t split_round;
static int together(gex_Rank_t a, gex_Rank_t b) {
  const uint64_t x = team_of(0, a, split_round), y = team_of(0, b, split_round);
  return (x >> 16 & 7) && (y >> 16 & 7) && x % 3 == y % 3;
}
static void atomic(gex_Rank_t to) {
  static void (*const of[])(int, int, gex_Rank_t, size_t) = { atomic_I32, atomic_U32, atomic_I64, atomic_U64, atomic_FLT, atomic_DBL };
  const int which = draw(2) && together(who, to), type = (int)draw(TYPES);
  const size_t k = used_words[which][type][to]++, w = k * actors() + (actor + phase) % actors();
  if (w >= WORDS) return;
  NOTE("atomic of type %d by %d at %d, domain %d, word %lu", type, (int)who, (int)to, which, (unsigned long)w);
  of[type](which, type, to, w);
}
/* All ranks add to one word. */
static void add_to_shared(gex_Rank_t to) {
  const uint64_t v = draw(1000);
  gex_Flags_t flags = 0;
  (void)__atomic_add_fetch(&model[to].segment.shared, v, __ATOMIC_RELAXED);
  implicit = 1;
  if (real) TRY(flags, !gex_AD_OpNBI_U64(domains[0][3], NULL, to, &segments[to]->shared, GEX_OP_ADD, v, 0, flags));
}

/* ---- messages ------------------------------------------------------------------------------------------------------------------ */
enum { SHORT = 140, MEDIUM, LONG, BACK_SHORT, BACK_MEDIUM, BACK_LONG };
enum { NO_REPLY, SHORT_REPLY, MEDIUM_REPLY, LONG_REPLY };
/* The arguments: what the payload must be; the reply: kind, where it goes, bytes, what it must be, and a seed of how it is sent, with
 * the thread that waits for it. */
#define HOW 20
#define THREAD(how) ((how) >> HOW)
#define ARGS 6
#define PARAMETERS gex_AM_Arg_t hash, gex_AM_Arg_t kind, gex_AM_Arg_t at, gex_AM_Arg_t n, gex_AM_Arg_t from, gex_AM_Arg_t how
static gex_AM_Arg_t hash_of(const void *payload, size_t n) {
  const unsigned char *const bytes = (const unsigned char *)payload;
  uint32_t h = 2166136261u;
  size_t i;
  for (i = 0; i < n; i++) h = (h ^ bytes[i]) * 16777619u;
  return (gex_AM_Arg_t)h;
}
static gex_Rank_t source_of(gex_Token_t token) {
  gex_Token_Info_t info;
  CHECK(gex_Token_Info(token, &info, GEX_TI_SRCRANK) & GEX_TI_SRCRANK);
  return info.gex_srcrank;
}
static void send_reply(gex_Token_t token, PARAMETERS) {
  const gex_Rank_t source = source_of(token);
  void *const to = segments[source]->data + at;
  unsigned char *const own = (unsigned char *)malloc((size_t)n + 1);
  gex_Event_t lc = GEX_EVENT_INVALID;
  int i;
  (void)hash;
  for (i = 0; i < n; i++) own[i] = pattern((uint64_t)(uint32_t)from, (size_t)i);
  if (kind == SHORT_REPLY) gex_AM_ReplyShort1(token, BACK_SHORT, 0, how);
  else if (kind != NO_REPLY && how % 3 == 0) {
    /* prepared: in a buffer of the library, or our own */
    const void *const buf = how & 4 ? own : NULL;
    const size_t size_n = (size_t)n;
    gex_AM_SrcDesc_t sd;
    int again;
    for (again = how & 8 ? 1 : 0;; again--) {
      if (kind == MEDIUM_REPLY) sd = gex_AM_PrepareReplyMedium(token, buf, size_n, size_n + 3 * !buf, buf ? GEX_EVENT_NOW : NULL, 0, 3);
      else sd = gex_AM_PrepareReplyLong(token, buf, size_n, size_n + 3 * !buf, how & 16 ? to : NULL, buf ? GEX_EVENT_NOW : NULL, 0, 3);
      if (again == 0) break;
      if (kind == MEDIUM_REPLY) CHECK_EQUAL(gex_AM_CancelReplyMedium(sd, 0), 0);
      else CHECK_EQUAL(gex_AM_CancelReplyLong(sd, 0), 0);
    }
    if (!buf) memcpy(gex_AM_SrcDescAddr(sd), own, size_n);
    if (kind == MEDIUM_REPLY) gex_AM_CommitReplyMedium3(sd, BACK_MEDIUM, size_n, at, hash_of(own, size_n), how);
    else gex_AM_CommitReplyLong3(sd, BACK_LONG, size_n, to, at, hash_of(own, size_n), how);
  } else if (kind == MEDIUM_REPLY) {
    gex_AM_ReplyMedium3(token, BACK_MEDIUM, own, (size_t)n, how & 4 ? GEX_EVENT_NOW : &lc, 0, at, hash_of(own, (size_t)n), how);
  } else if (kind == LONG_REPLY) {
    gex_AM_ReplyLong3(token, BACK_LONG, own, (size_t)n, to, how & 4 ? GEX_EVENT_NOW : &lc, 0, at, hash_of(own, (size_t)n), how);
  }
  /* sending a reply has read the payload in this library: there is nothing to wait for, and a handler could not */
  CHECK(lc == GEX_EVENT_INVALID);
  free(own);
  (void)__atomic_add_fetch(&arrived[source], 1, __ATOMIC_RELEASE);
}
static void on_short(gex_Token_t token, PARAMETERS) {
  CHECK_EQUAL(hash, how);
  send_reply(token, hash, kind, at, n, from, how);
}
static void on_payload(gex_Token_t token, void *buf, size_t nbytes, PARAMETERS) {
  if (hash != hash_of(buf, nbytes)) {
    CHECK(!"the payload of a request");
    printf("ERROR: node %d: seed %llu: %lu bytes from %d\n", (int)me, (unsigned long long)seed, (unsigned long)nbytes, (int)source_of(token));
  }
  /* the payload of a medium message may be written to */
  if (how & 32 && nbytes > 0 && (how & 64)) ((volatile unsigned char *)buf)[nbytes - 1] = ((unsigned char *)buf)[nbytes - 1];
  send_reply(token, hash, kind, at, n, from, how);
}
static void on_back_short(gex_Token_t token, gex_AM_Arg_t how) {
  (void)token;
  (void)__atomic_add_fetch(&answered[THREAD(how)], 1, __ATOMIC_RELEASE);
}
static void on_back_medium(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t at, gex_AM_Arg_t hash, gex_AM_Arg_t how) {
  (void)token;
  CHECK_EQUAL(hash_of(buf, nbytes), hash);
  memcpy(mine + at, buf, nbytes);
  (void)__atomic_add_fetch(&answered[THREAD(how)], 1, __ATOMIC_RELEASE);
}
static void on_back_long(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t at, gex_AM_Arg_t hash, gex_AM_Arg_t how) {
  (void)token;
  CHECK_EQUAL(hash_of(buf, nbytes), hash);
  CHECK((unsigned char *)buf == segments[me]->data + at);
  (void)__atomic_add_fetch(&answered[THREAD(how)], 1, __ATOMIC_RELEASE);
}

static void message(gex_Rank_t to) {
  const int kind = (int)draw(3), prepared = kind != 0 && draw(2), reply = (int)(kind == 2 ? 1 + draw(3) : draw(4));
  const size_t most = gex_AM_LUBRequestMedium() < 20000 ? gex_AM_LUBRequestMedium() : 20000;
  size_t n = kind == 0 ? 0 : draw(8) ? some_size() : most - draw(2), reply_n = reply < MEDIUM_REPLY ? 0 : some_size();
  const int local = (int)draw(3); /* NOW, an event, the group */
  const uint64_t scribble = 1 + draw(1000), content = mixed(seed, draw(100000));
  const gex_AM_Arg_t reply_from = (gex_AM_Arg_t)draw(100000), how = (gex_AM_Arg_t)(draw(1 << HOW) | (actor % threads) << HOW);
  long at, from, reply_at = 0;
  gex_Rank_t rank = to;
  gex_Flags_t flags = 0;
  gex_AM_Arg_t hash;
  size_t i;
  pending_t *p;
  if (n > most && kind == 1) n = most;
  if (reply == MEDIUM_REPLY && reply_n > most) reply_n = most;
  at = kind == 2 ? range_at(to, n) : 0;
  from = local_range(n);
  if (reply == MEDIUM_REPLY) reply_at = local_range(reply_n);
  if (reply == LONG_REPLY) reply_at = range_at(who, reply_n);
  if (at < 0 || from < 0 || reply_at < 0) return;
  NOTE("message %d%s by %d to %d of %lu bytes", kind, prepared ? " prepared" : "", (int)who, (int)to, (unsigned long)n);
  write_local((size_t)from, n, content);
  if (kind == 2) put_in_model(to, (size_t)at, (size_t)from, n);
  NOTE("reply %d to %d from %d of %lu bytes", reply, (int)who, (int)to, (unsigned long)reply_n);
  for (i = 0; i < reply_n; i++) {
    const unsigned char byte = pattern((uint64_t)(uint32_t)reply_from, i);
    if (reply == MEDIUM_REPLY) model[who].local[(size_t)reply_at + i] = byte;
    if (reply == LONG_REPLY) model[who].segment.data[(size_t)reply_at + i] = byte;
    if (reply == MEDIUM_REPLY && real) last_local[(size_t)reply_at + i] = noted;
    if (reply == LONG_REPLY && real) last[(size_t)reply_at + i] = noted;
  }
  (void)__atomic_add_fetch(&model[to].got[who], 1, __ATOMIC_RELAXED);
  p = add();
  p->source = (size_t)from;
  p->n = n;
  p->scribble = scribble;
  hash = kind == 0 ? how : hash_of(model[who].local + from, n);
  implicit = 1;
  if (real) {
    const gex_TM_t tm = by(&rank);
    void *const dest = segments[to]->data + at;
    const unsigned char *const src = mine + from;
    gex_Event_t leaf = GEX_EVENT_INVALID;
    gex_Event_t *const lc = local == 0 ? GEX_EVENT_NOW : local == 1 ? &leaf : GEX_EVENT_GROUP;
    const void *const buf = prepared && chance(2) ? src : NULL;
    gex_Event_t *const prepared_lc = buf ? lc : NULL;
    const size_t more = buf ? 0 : chance(2) ? chance(100) : 0;
    gex_AM_SrcDesc_t sd = GEX_AM_SRCDESC_NO_OP;
    if (reply != NO_REPLY) wanted[actor % threads]++;
#define WITH hash, reply, (gex_AM_Arg_t)reply_at, (gex_AM_Arg_t)reply_n, reply_from, how
    if (prepared) {
      int again;
      for (again = chance(4) == 0;; again--) {
        if (kind == 1) TRY(flags, (sd = gex_AM_PrepareRequestMedium(tm, rank, buf, n, n + more, prepared_lc, flags, ARGS)) != GEX_AM_SRCDESC_NO_OP);
        else
          TRY(flags, (sd = gex_AM_PrepareRequestLong(tm, rank, buf, n, n + more, chance(2) ? dest : NULL, prepared_lc, flags, ARGS)) !=
                         GEX_AM_SRCDESC_NO_OP);
        if (again == 0) break;
        if (kind == 1) CHECK_EQUAL(gex_AM_CancelRequestMedium(sd, 0), 0);
        else CHECK_EQUAL(gex_AM_CancelRequestLong(sd, 0), 0);
      }
      if (buf) CHECK(gex_AM_SrcDescAddr(sd) == buf);
      else memcpy(gex_AM_SrcDescAddr(sd), src, n);
      CHECK(gex_AM_SrcDescSize(sd) >= n && gex_AM_SrcDescSize(sd) <= n + more);
      if (kind == 1) gex_AM_CommitRequestMedium6(sd, MEDIUM, n, WITH);
      else gex_AM_CommitRequestLong6(sd, LONG, n, dest, WITH);
    } else if (kind == 0) {
      TRY(flags, !gex_AM_RequestShort6(tm, rank, SHORT, flags, WITH));
    } else if (kind == 1) {
      TRY(flags, !gex_AM_RequestMedium6(tm, rank, MEDIUM, src, n, lc, flags, WITH));
    } else {
      TRY(flags, !gex_AM_RequestLong6(tm, rank, LONG, src, n, dest, lc, flags, WITH));
    }
    p->root = leaf;
  }
  if (local == 0) {
    is_free(p);
    p->scribble = 0;
  }
}

/* ---- collective operations, under way while all else happens ------------------------------------------------------------------------ */
#define COLLECTIVES 12
static struct {
  gex_Event_t event;
  int kind, team, is_root, user;
  size_t n;
  uint64_t *in, *out, *expected;
} together_now[COLLECTIVES];
static size_t togethers;
static void sum_and_xor(const void *x, void *y, size_t count, const void *cdata) {
  const uint64_t *const in = (const uint64_t *)x;
  uint64_t *const out = (uint64_t *)y;
  size_t i;
  CHECK(cdata == &togethers);
  for (i = 0; i < count; i++) out[i] = (in[i] & 0xffffffffu) + (out[i] & 0xffffffffu) + ((in[i] ^ out[i]) & ~(uint64_t)0xffffffffu);
}
/* The sums stay below the limit of their half. */
static uint64_t contribution(uint64_t number, gex_Rank_t jobrank, size_t i) { return mixed(seed ^ number, (uint64_t)jobrank << 32 | i) & 0xffffffff00ffffffu; }
static void start_together(void) {
  uint64_t common = mixed(seed + 99, phase);
  const size_t count = next(&common) % COLLECTIVES;
  size_t c, i;
  for (c = 0; c < count; c++) {
    const uint64_t number = next(&common), what = next(&common);
    const int kind = (int)(what & 3), team = (int)((what >> 2) % (1 + SPLITS)), user = (int)(what >> 8 & 1);
    const size_t n = (what >> 10 & 7) == 0 ? 2000 : 1 + (what >> 13) % 40;
    const gex_TM_t tm = teams[team].tm;
    gex_Rank_t root, j;
    if (tm == GEX_TM_INVALID) continue;
    root = (gex_Rank_t)((what >> 32) % teams[team].n);
    together_now[togethers].kind = kind;
    together_now[togethers].n = n;
    together_now[togethers].user = user;
    together_now[togethers].is_root = teams[team].ranks[root] == me;
    uint64_t *const in = together_now[togethers].in = (uint64_t *)malloc(8 * n);
    uint64_t *const out = together_now[togethers].out = (uint64_t *)calloc(n, 8);
    uint64_t *const expected = together_now[togethers].expected = (uint64_t *)calloc(n, 8);
    for (i = 0; i < n; i++) {
      in[i] = contribution(number, me, i);
      if (kind == 1) expected[i] = contribution(number, teams[team].ranks[root], i);
      for (j = 0; kind > 1 && j < teams[team].n; j++) {
        const uint64_t other = contribution(number, teams[team].ranks[j], i);
        if (j == 0) expected[i] = other;
        else if (user) sum_and_xor(&other, &expected[i], 1, &togethers);
        else expected[i] += other;
      }
    }
    const gex_OP_t op = user ? GEX_OP_USER : GEX_OP_ADD;
    const gex_DT_t dt = user ? GEX_DT_USER : GEX_DT_U64;
    const gex_Coll_ReduceFn_t fn = user ? sum_and_xor : NULL;
    void *const cdata = user ? &togethers : NULL;
    gex_Event_t *const event = &together_now[togethers++].event;
    if (kind == 0) *event = gex_Coll_BarrierNB(tm, 0);
    else if (kind == 1) *event = gex_Coll_BroadcastNB(tm, root, out, in, 8 * n, 0);
    else if (kind == 2) *event = gex_Coll_ReduceToOneNB(tm, root, out, in, dt, 8, n, op, fn, cdata, 0);
    else *event = gex_Coll_ReduceToAllNB(tm, out, in, dt, 8, n, op, fn, cdata, 0);
  }
}
static void end_together(void) {
  while (togethers > 0) {
    const size_t c = chance(togethers--);
    const size_t n = together_now[c].n;
    wait_for_one(&together_now[c].event);
    if (together_now[c].kind == 1 || together_now[c].kind == 3 || (together_now[c].kind == 2 && together_now[c].is_root))
      compare("a collective operation", (unsigned char *)together_now[c].out, (unsigned char *)together_now[c].expected, 8 * n, NULL);
    free(together_now[c].in);
    free(together_now[c].out);
    free(together_now[c].expected);
    together_now[c] = together_now[togethers];
  }
}

/* ---- a phase ------------------------------------------------------------------------------------------------------------------------- */
static void operation(void) {
  const gex_Rank_t peer = (gex_Rank_t)draw(size);
  const size_t kind = draw(in_region ? 5 : 8);
  switch (kind) {
    case 0: put(peer); break;
    case 1: get(peer); break;
    case 2: in_pieces(peer, (int)draw(2)); break;
    case 3: atomic(peer); break;
    case 4: add_to_shared(peer); break;
    default: message(peer); break;
  }
}
static void region(void) {
  size_t n = 1 + draw(10);
  const int before = implicit;
  pending_t *p;
  if (real) gex_NBI_BeginAccessRegion(0);
  in_region = 1;
  while (n-- > 0) operation();
  in_region = 0;
  implicit = before;
  p = add();
  if (real) {
    p->root = gex_NBI_EndAccessRegion(0);
    if (chance(2)) {
      gex_Event_t leaf = gex_Event_QueryLeaf(p->root, GEX_EC_LC);
      if (chance(2)) wait_for_one(&leaf);
      else p->leaf = leaf;
    }
  }
}
static void part_of(gex_Rank_t a, int is_real) {
  size_t batches, n;
  actor = a;
  who = a / threads;
  real = is_real;
  draws = mixed(mixed(seed, phase), actor);
  if (real) chances = mixed(draws, 1);
  for (batches = 1 + draw(3); batches > 0; batches--) {
    memset(used, 0, sizeof(used));
    memset(used_words, 0, sizeof(used_words));
    used_local = 0;
    for (n = draw(40); n > 0 && pendings < MOST - 16; n--) {
      if (draw(8) == 0) region();
      else operation();
      if (real && chance(8) == 0) (void)gasnet_AMPoll();
    }
    complete();
  }
}
/* Threads of a phase: they come and go. */
static void *own_part(void *thread) {
  part_of(me * threads + (gex_Rank_t)(uintptr_t)thread, 1);
  return NULL;
}
static void own_parts(void) {
  pthread_t others[MOST_THREADS];
  uintptr_t t;
  for (t = 1; t < threads; t++) CHECK_EQUAL(pthread_create(&others[t], NULL, own_part, (void *)t), 0);
  (void)own_part(NULL);
  for (t = 1; t < threads; t++) CHECK_EQUAL(pthread_join(others[t], NULL), 0);
}
static void meet(void) {
  if (phase & 1) barrier();
  else gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_Segment_t segment;
  gex_Rank_t r;
  uint64_t phases;
  const size_t bytes = (sizeof(memory_t) + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
#define ENTRY(index, fn, flags, nargs) { (gex_AM_Index_t)(index), (gex_AM_Fn_t)(fn), (flags), (nargs), NULL, NULL }
  gex_AM_Entry_t entries[] = {
    ENTRY(SHORT, on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, ARGS),
    ENTRY(MEDIUM, on_payload, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, ARGS),
    ENTRY(LONG, on_payload, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, ARGS),
    ENTRY(BACK_SHORT, on_back_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1),
    ENTRY(BACK_MEDIUM, on_back_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 3),
    ENTRY(BACK_LONG, on_back_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 3),
  };
  OK(gex_Client_Init(&client, &ep, &world, "EX_RANDOM", &argc, &argv, 0));
  OK(gex_Segment_Attach(&segment, world, bytes));
  OK(gex_EP_RegisterHandlers(ep, entries, sizeof(entries) / sizeof(*entries)));
  me = gex_TM_QueryRank(world);
  size = gex_TM_QuerySize(world);
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
  phases = argc > 2 ? strtoull(argv[2], NULL, 0) : 20;
#ifdef GASNET_PAR
  threads = argc > 3 ? (gex_Rank_t)strtoul(argv[3], NULL, 0) : 1;
  CHECK(threads >= 1 && threads <= MOST_THREADS);
  stop_if_wrong();
#endif
  /* all ranks have the first one's seed */
  gex_Event_Wait(gex_Coll_BroadcastNB(world, 0, &seed, &seed, sizeof(seed), 0));
  if (me == 0) printf("seed %llu, %llu phases\n", (unsigned long long)seed, (unsigned long long)phases);
  fflush(stdout);
  if (size > MOST_RANKS) {
    if (me == 0) printf("at most %d ranks; passed\n", MOST_RANKS);
    finish();
  }
  for (r = 0; r < size; r++) {
    void *address;
    uintptr_t length;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, r, &address, NULL, &length, 0));
    segments[r] = (memory_t *)address;
    CHECK(length >= bytes);
  }
  chances = mixed(seed, 1000 + me);
  slice = DATA / actors() / 8 * 8;
  local_part = LOCAL / threads / 16 * 16;
  teams[0].tm = world;
  for (teams[0].n = 0; teams[0].n < size; teams[0].n++) teams[0].ranks[teams[0].n] = teams[0].n;
  memset(segments[me], 0, sizeof(memory_t));
  make_domains(0, world);
  for (phase = 0; phase < phases; phase++) {
    if (phase % 3 == 0) {
      split_round = phase;
      make_teams(phase);
      if (teams[1].tm != GEX_TM_INVALID) make_domains(1, teams[1].tm);
    }
    meet();
    start_together();
    own_parts();
    for (r = 0; r < actors(); r++)
      if (r / threads != me) part_of(r, 0);
    for (r = 0; r < size; r++) GASNET_BLOCKUNTIL(arrived[r] >= model[me].got[r]);
    end_together();
    meet();
    for (r = 0; r < size; r++) CHECK_EQUAL(arrived[r], model[me].got[r]);
    compare("the segment", segments[me]->data, model[me].segment.data, DATA, last);
    compare("words", (unsigned char *)segments[me]->words, (unsigned char *)model[me].segment.words, sizeof(segments[me]->words), NULL);
    CHECK_EQUAL(segments[me]->shared, model[me].segment.shared);
    stop_if_wrong();
    if (phase % 3 == 2 || phase == phases - 1) {
      if (teams[1].tm != GEX_TM_INVALID) end_domains(1);
      end_teams();
    }
  }
  end_domains(0);
  finish();
  return 0;
}
