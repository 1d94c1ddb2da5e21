// Several images in a process: every operation against what has to come out, with the forms that say addresses in different ways mixed.
// mode: par
// run: 1 2 3 | args 2 | says passed
// run: 2 | args 1 | says passed
// run: 2 | args 3 | says passed
// run: 4 5 | args mixed | says passed
// run: 2 3 | args 2 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 3 4 | args mixed | env GASNET_NEIGHBORHOOD=off | says passed
// run: 5 | args mixed | env GASNET_NEIGHBORHOOD=2 | says passed
// run: 2 3 | args mixed | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | args differ | status 134 | says collective operations do not match: in call 1 of a team, image
// run: 2 | args stranger | status 134 | says this thread is no image: call gasnet_coll_init in it first
// run: 2 | args twice | status 134 | says two threads say that they are image
// run: 2 | args elsewhere | status 134 | says this thread cannot be image 9
// run: 2 | args none | status 134 | says node 1 has no image in the array of images
#include <gasnet.h>

#include <pthread.h>

#include "check.h"

#define MOST 3
#define LONGEST 3001

static const char *what = "2";
static gasnet_image_t *counts, total, first;
static int mine;

static int is(const char *name) { return strcmp(what, name) == 0; }

/* what an image has for another one, or for all */
static int64_t value(unsigned seed, unsigned from, unsigned to, unsigned k) {
  return (int64_t)seed * 1000003 + from * 10007 + to * 101 + k;
}

static void add(void *results, size_t n, const void *left, size_t lefts, const void *right, size_t size, int flags,
                int arg) {
  size_t i;
  (void)flags;
  CHECK_EQUAL(n, lefts);
  CHECK_EQUAL(size, sizeof(int64_t));
  for (i = 0; i < n; i++) ((int64_t *)results)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i] + arg;
}

/* f(x) = a x + b, one after the other: associative, and does not commute */
typedef struct { uint32_t a, b; } line;

static void then(void *results, size_t n, const void *left, size_t lefts, const void *right, size_t size, int flags,
                 int arg) {
  size_t i;
  (void)lefts, (void)arg;
  CHECK_EQUAL(size, sizeof(line));
  CHECK(flags & GASNET_COLL_NONCOMM);
  for (i = 0; i < n; i++) {
    const line f = ((const line *)left)[i], g = ((const line *)right)[i];
    line h;
    h.a = f.a * g.a;
    h.b = f.b * g.a + g.b;
    ((line *)results)[i] = h;
  }
}

static line line_of(unsigned image, unsigned k) {
  line f;
  f.a = 2 * image + 3;
  f.b = 7 * image + k;
  return f;
}

static const int modes[] = {
  GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC,
  GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC,
  GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_ALLSYNC,
  GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_MYSYNC,
};

/* what one image has */
typedef struct {
  gasnet_team_handle_t team;
  unsigned me, local, images;
  int64_t *out, *in, *all;
  void **addresses, **sources;
} place;

/* form 0 gives its address, the others a list with it */
static int listed(place *p, int form, void *dst, void *src) {
  const int flags = form == 1 ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
  unsigned i;
  for (i = 0; i < p->images; i++) p->addresses[i] = p->sources[i] = NULL;
  p->addresses[form == 1 ? p->me : p->local] = dst;
  p->sources[form == 1 ? p->me : p->local] = src;
  return flags;
}

#define EITHER(nb, one, many)                                                   \
  do {                                                                          \
    if (form == 0) { if (nb) gasnet_coll_wait_sync(one(_nb)); else one(); }     \
    else { if (nb) gasnet_coll_wait_sync(many(M_nb)); else many(M); }           \
  } while (0)

static void check_moves(place *p, unsigned root, size_t n, int mode, unsigned seed) {
  const unsigned me = p->me, images = p->images;
  const int form = (int)((me + seed) % 3), nb = (int)(me / 2 + seed) % 2;
  const size_t bytes = n * sizeof(int64_t);
  int flags;
  unsigned i;
  size_t k;
  flags = mode | listed(p, form, p->in, p->out);

  for (k = 0; k < n; k++) p->out[k] = value(seed, me, 0, (unsigned)k);
#define BROADCAST(f) gasnet_coll_broadcast##f(p->team, p->in, root, p->out, bytes, flags)
#define BROADCASTM(f) gasnet_coll_broadcast##f(p->team, p->addresses, root, p->out, bytes, flags)
  EITHER(nb, BROADCAST, BROADCASTM);
  for (k = 0; k < n; k++) CHECK_EQUAL(p->in[k], value(seed, root, 0, (unsigned)k));

#define GATHER(f) gasnet_coll_gather##f(p->team, root, me == root ? p->all : NULL, p->out, bytes, flags)
#define GATHERM(f) gasnet_coll_gather##f(p->team, root, me == root ? p->all : NULL, p->sources, bytes, flags)
  EITHER(nb, GATHER, GATHERM);
  if (me == root)
    for (i = 0; i < images; i++)
      for (k = 0; k < n; k += n / 2 + 1) CHECK_EQUAL(p->all[i * n + k], value(seed, i, 0, (unsigned)k));

  flags = mode | listed(p, form, p->all, p->out);
#define GATHER_ALL(f) gasnet_coll_gather_all##f(p->team, p->all, p->out, bytes, flags)
#define GATHER_ALLM(f) gasnet_coll_gather_all##f(p->team, p->addresses, p->sources, bytes, flags)
  EITHER(!nb, GATHER_ALL, GATHER_ALLM);
  for (i = 0; i < images; i++)
    for (k = 0; k < n; k += n / 2 + 1) CHECK_EQUAL(p->all[i * n + k], value(seed, i, 0, (unsigned)k));

  for (i = 0; i < images; i++)
    for (k = 0; k < n; k++) p->out[i * n + k] = value(seed, me, i, (unsigned)k);
  flags = mode | listed(p, form, p->in, NULL);
#define SCATTER(f) gasnet_coll_scatter##f(p->team, p->in, root, me == root ? p->out : NULL, bytes, flags)
#define SCATTERM(f) gasnet_coll_scatter##f(p->team, p->addresses, root, me == root ? p->out : NULL, bytes, flags)
  EITHER(nb, SCATTER, SCATTERM);
  for (k = 0; k < n; k++) CHECK_EQUAL(p->in[k], value(seed, root, me, (unsigned)k));

  flags = mode | listed(p, form, p->all, p->out);
#define EXCHANGE(f) gasnet_coll_exchange##f(p->team, p->all, p->out, bytes, flags)
#define EXCHANGEM(f) gasnet_coll_exchange##f(p->team, p->addresses, p->sources, bytes, flags)
  EITHER(nb, EXCHANGE, EXCHANGEM);
  for (i = 0; i < images; i++)
    for (k = 0; k < n; k += n / 2 + 1) CHECK_EQUAL(p->all[i * n + k], value(seed, i, me, (unsigned)k));
}

static void check_combined(place *p, unsigned root, size_t n, int mode, unsigned seed) {
  const unsigned me = p->me, images = p->images;
  const int form = (int)((me + seed) % 3), nb = (int)(me / 2 + seed) % 2;
  const int arg = (int)(seed % 4);
  int64_t sum;
  int flags;
  line *lines = (line *)p->out, *product = (line *)p->in, expected = line_of(0, 0), so_far = line_of(0, 0);
  unsigned i;
  size_t k;
  for (k = 0; k < n; k++) p->out[k] = value(seed, me, 0, (unsigned)k);
  flags = mode | listed(p, form, p->in, p->out);
#define REDUCE(f) \
  gasnet_coll_reduce##f(p->team, root, me == root ? p->in : NULL, p->out, 0, 0, sizeof(int64_t), n, 0, arg, flags)
#define REDUCEM(f) \
  gasnet_coll_reduce##f(p->team, root, me == root ? p->in : NULL, p->sources, 0, 0, sizeof(int64_t), n, 0, arg, flags)
  EITHER(nb, REDUCE, REDUCEM);
  for (k = 0; k < n; k += n / 2 + 1) {
    for (sum = (int64_t)(images - 1) * arg, i = 0; i < images; i++) sum += value(seed, i, 0, (unsigned)k);
    if (me == root) CHECK_EQUAL(p->in[k], sum);
  }
  if (nb) gasnet_coll_wait_sync(gasnet_coll_reduce_all_nb(p->team, p->all, p->out, sizeof(int64_t), n, 0, arg, mode));
  else gasnet_coll_reduce_all(p->team, p->all, p->out, sizeof(int64_t), n, 0, arg, mode);
  for (k = 0; k < n; k += n / 2 + 1) {
    for (sum = (int64_t)(images - 1) * arg, i = 0; i < images; i++) sum += value(seed, i, 0, (unsigned)k);
    CHECK_EQUAL(p->all[k], sum);
  }
  for (k = 0; k < n; k++) lines[k] = line_of(me, (unsigned)k);
#define SCAN(f) gasnet_coll_scan##f(p->team, p->in, 0, 0, p->out, 0, 0, sizeof(line), n, 1, 0, flags)
#define SCANM(f) gasnet_coll_scan##f(p->team, p->addresses, 0, 0, p->sources, 0, 0, sizeof(line), n, 1, 0, flags)
  EITHER(!nb, SCAN, SCANM);
  for (k = 0; k < n; k += n / 2 + 1) {
    for (i = 0; i < images; i++) {
      const line f = line_of(i, (unsigned)k);
      if (i == 0) expected = f;
      else then(&expected, 1, &expected, 1, &f, sizeof(f), GASNET_COLL_NONCOMM, 0);
      if (i == me) so_far = expected;
    }
    CHECK(product[k].a == so_far.a && product[k].b == so_far.b);
  }
  flags = mode | GASNET_COLL_LOCAL;
  gasnet_coll_reduce(p->team, root, p->all, lines, 0, 0, sizeof(line), 1, 1, 0, flags);
  for (expected = line_of(0, 0), i = 1; i < images; i++) {
    const line f = line_of(i, 0);
    then(&expected, 1, &expected, 1, &f, sizeof(f), GASNET_COLL_NONCOMM, 0);
  }
  if (me == root) CHECK(((line *)p->all)->a == expected.a && ((line *)p->all)->b == expected.b);
}

/* blocks that differ: from image i to image j (i + 2 j + seed) % 4 words, some of them far away */
static void check_differing(place *p, unsigned root, int mode, unsigned seed) {
  const unsigned me = p->me, images = p->images;
  size_t *to_at = (size_t *)calloc(4 * images, sizeof(size_t)), *to_len = to_at + images, *from_at = to_len + images,
         *from_len = from_at + images, at = 0, sent = 0;
  unsigned i, k;
#define WORDS(i, j) (((i) + 2 * (j) + seed) % 4)
  for (i = 0; i < images; i++) {
    to_at[i] = sent * 8;
    to_len[i] = WORDS(me, i) * 8;
    for (k = 0; k < WORDS(me, i); k++) p->out[sent + k] = value(seed, me, i, k);
    sent += WORDS(me, i) + 1;
    from_at[i] = at * 8;
    from_len[i] = WORDS(i, me) * 8;
    at += WORDS(i, me) + 2;
  }
  gasnet_coll_exchangev(p->team, p->all, from_at, from_len, p->out, to_at, to_len, mode);
  for (i = 0; i < images; i++)
    for (k = 0; k < WORDS(i, me); k++) CHECK_EQUAL(p->all[from_at[i] / 8 + k], value(seed, i, me, k));
  gasnet_coll_wait_sync(
    gasnet_coll_scatterv_nb(p->team, p->in, WORDS(root, me) * 8, root, p->out, me == root ? to_at : NULL, to_len, mode));
  for (k = 0; k < WORDS(root, me); k++) CHECK_EQUAL(p->in[k], value(seed, root, me, k));
  for (i = 0, at = 0; i < images; i++) {
    from_at[i] = at * 8;
    from_len[i] = WORDS(i, 0) * 8;
    at += WORDS(i, 0) + 1;
  }
  for (k = 0; k < WORDS(me, 0); k++) p->out[k] = value(seed, me, 0, k);
  if (me != root)
    gasnet_coll_gatherv(p->team, root, NULL, NULL, NULL, p->out, WORDS(me, 0) * 8, mode);
  else gasnet_coll_gatherv(p->team, root, p->all, from_at, from_len, p->out, WORDS(me, 0) * 8, mode);
  if (me == root)
    for (i = 0; i < images; i++)
      for (k = 0; k < WORDS(i, 0); k++) CHECK_EQUAL(p->all[from_at[i] / 8 + k], value(seed, i, 0, k));
  gasnet_coll_gather_allv(p->team, p->all, from_at, from_len, p->out, mode);
  for (i = 0; i < images; i++)
    for (k = 0; k < WORDS(i, 0); k++) CHECK_EQUAL(p->all[from_at[i] / 8 + k], value(seed, i, 0, k));
  free(to_at);
}

/* many at a time, synchronised in another order */
static void check_flying(place *p) {
  enum { MANY = 40 };
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  gasnet_coll_handle_t h[MANY];
  int64_t got[MANY], *all = (int64_t *)calloc((size_t)p->images * MANY, sizeof(*all));
  unsigned i, k;
  for (k = 0; k < MANY; k++) {
    p->out[k] = value(k, p->me, 0, 0);
    if (k % 2) h[k] = gasnet_coll_broadcast_nb(p->team, &got[k], k % p->images, &p->out[k], sizeof(*got), flags);
    else h[k] = gasnet_coll_gather_all_nb(p->team, all + (size_t)k * p->images, &p->out[k], sizeof(*got), flags);
  }
  if (p->me % 2) gasnet_coll_wait_sync_all(h, MANY);
  else for (k = MANY; k-- > 0;) while (gasnet_coll_try_sync(h[k]) != GASNET_OK) {}
  for (k = 0; k < MANY; k++) {
    if (k % 2) CHECK_EQUAL(got[k], value(k, k % p->images, 0, 0));
    else for (i = 0; i < p->images; i++) CHECK_EQUAL(all[k * p->images + i], value(k, i, 0, 0));
  }
  free(all);
}

static void check_barrier(place *p) {
  const int images = GASNET_BARRIERFLAG_IMAGES;
  int i, id;
  for (i = 0; i < 60; i++) {
    const int named = i % 3, anonymous = named ? 0 : GASNET_BARRIERFLAG_ANONYMOUS;
    gasnet_coll_barrier_notify(p->team, i, anonymous | images);
    if ((i + p->me) % 2) OK(gasnet_coll_barrier_wait(p->team, i, anonymous | images));
    else while (gasnet_coll_barrier_try(p->team, i, anonymous | images) != GASNET_OK) {}
  }
  id = (int)p->me;
  CHECK_EQUAL(gasnet_coll_barrier(p->team, id, images), p->images > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK);
  OK(gasnet_coll_barrier(p->team, 0, GASNET_BARRIERFLAG_ANONYMOUS | images));
}

/* what others put here before they called is taken, and what went to others is there */
static void check_all_wait(place *p) {
  const gasnet_node_t right = right_neighbour();
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;
  const int barrier_flags = GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES;
  /* of each image: a word, and room for all of them */
  const size_t step = 64 * sizeof(int64_t);
  char *here = segment_of(gasnet_mynode()), *there = segment_of(right);
  const unsigned peers = p->local < counts[right] ? p->local : counts[right] - 1;
  unsigned i, round;
  for (round = 0; round < 100; round++) {
    int64_t word = value(round, right, p->local, 0), got;
    /* images that no other has as its peer have their own word */
    *(int64_t *)(here + p->local * step) = value(round, gasnet_mynode(), p->local, 0);
    OK(gasnet_coll_barrier(p->team, 0, barrier_flags));
    if (p->local < counts[right]) {
      word = value(round, right, p->local, 1);
      gasnet_put(right, there + p->local * step, &word, sizeof(word));
    }
    gasnet_coll_gather_all(p->team, here + p->local * step + 8, here + p->local * step, sizeof(word), flags);
    for (i = 0; i < p->images; i++) {
      gasnet_get(&got, right, there + peers * step + 8 + 8 * i, sizeof(got));
      CHECK_EQUAL(got, ((int64_t *)(here + p->local * step + 8))[i]);
    }
    gasnet_get(&got, right, there + peers * step, sizeof(got));
    if (p->local < counts[right]) CHECK_EQUAL(got, word);
    for (i = 0; i < counts[0]; i++)
      if (i < counts[gasnet_nodes() - 1])
        CHECK_EQUAL(((int64_t *)(here + p->local * step + 8))[i], value(round, 0, i, 1));
    OK(gasnet_coll_barrier(p->team, 0, barrier_flags));
  }
}

static void check_team(gasnet_team_handle_t team, unsigned me, unsigned images, unsigned local) {
  static const size_t sizes[] = { 1, 3, 700, LONGEST };
  place p;
  unsigned root, m, s, seed = 0;
  p.team = team;
  p.me = me;
  p.local = local;
  p.images = images;
  p.out = (int64_t *)malloc((size_t)images * LONGEST * 8);
  p.in = (int64_t *)malloc((size_t)images * LONGEST * 8);
  p.all = (int64_t *)malloc((size_t)images * LONGEST * 8);
  p.addresses = (void **)calloc(2 * images + MOST, sizeof(void *));
  p.sources = p.addresses + images;
  for (root = 0; root < images; root += images / 2 + (images % 2 ? 0 : 1) + (images < 2)) {
    for (m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
      for (s = m % 2; s < sizeof(sizes) / sizeof(*sizes); s += 2, seed++) {
        check_moves(&p, root, sizes[s], modes[m], seed);
        check_combined(&p, root, sizes[s], modes[m], seed);
        check_differing(&p, root, modes[m], seed);
      }
    }
    if (images < 2) break;
  }
  check_flying(&p);
  check_barrier(&p);
  free(p.out);
  free(p.in);
  free(p.all);
  free(p.addresses);
}

static unsigned images_of(gasnet_team_handle_t team, unsigned *before) {
  unsigned member, sum = 0;
  for (member = 0; member < gasnet_coll_team_size(team); member++) {
    if (member == gasnet_coll_team_rank(team)) *before = sum;
    sum += counts[gasnet_coll_team_rank2node(team, (int)member)];
  }
  return sum;
}

static void *image(void *number) {
  const unsigned local = (unsigned)(uintptr_t)number, me = first + local;
  const gasnet_node_t node = gasnet_mynode();
  gasnet_coll_fn_entry_t functions[2];
  gasnet_team_handle_t row, back;
  int64_t mine_now = node, got = -1, *all;
  unsigned before = 0, sum, i;
  functions[0].fnptr = add;
  functions[0].flags = 0;
  functions[1].fnptr = then;
  functions[1].flags = GASNET_COLL_NONCOMM;
  gasnet_coll_init(counts, is("elsewhere") ? 9 : is("twice") ? first : me, functions, 2, 0);
  if (is("differ")) {
    const int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &got, 0, &mine_now, local ? 8 : 4, flags);
  }
  check_team(GASNET_TEAM_ALL, me, total, local);
  {
    place p;
    p.team = GASNET_TEAM_ALL;
    p.local = local;
    p.images = total;
    check_all_wait(&p);
  }
  row = gasnet_coll_team_split(GASNET_TEAM_ALL, node / 2, gasnet_nodes() - node, NULL);
  sum = images_of(row, &before);
  check_team(row, before + local, sum, local);
  back = gasnet_coll_team_split(row, 3, node, NULL);
  sum = images_of(back, &before);
  check_team(back, before + local, sum, local);
  gasnet_coll_team_free(back);
  gasnet_coll_team_free(row);
  /* one thread of each process */
  if (local == 0) {
    const int flags = GASNET_COLL_NO_IMAGES | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
    all = (int64_t *)calloc(gasnet_nodes(), sizeof(*all));
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine_now, sizeof(mine_now), flags);
    for (i = 0; i < gasnet_nodes(); i++) CHECK_EQUAL(all[i], i);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &got, gasnet_nodes() - 1, &mine_now, sizeof(got), flags);
    CHECK_EQUAL(got, gasnet_nodes() - 1);
    OK(gasnet_coll_barrier(GASNET_TEAM_ALL, 5, 0));
    free(all);
  }
  gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[MOST];
  gasnet_node_t node;
  int i;
  start(&argc, &argv, NULL, 0);
  if (argc > 1) what = argv[1];
  counts = (gasnet_image_t *)calloc(gasnet_nodes(), sizeof(*counts));
  for (node = 0; node < gasnet_nodes(); node++) {
    if (node == gasnet_mynode()) first = total;
    counts[node] = is("mixed") ? (node + 1) % 3 + 1 : is("1") ? 1 : is("3") ? 3 : 2;
    total += counts[node];
  }
  if (is("none")) counts[1] = 0;
  mine = (int)(is("none") ? 2 : counts[gasnet_mynode()]);
  for (i = 0; i < mine; i++)
    if (pthread_create(&threads[i], NULL, image, (void *)(uintptr_t)i) != 0) return 3;
  for (i = 0; i < mine; i++) pthread_join(threads[i], NULL);
  if (is("stranger")) {
    int64_t word = 0;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &word, 0, &word, 8, GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
  }
  free(counts);
  finish();
}
