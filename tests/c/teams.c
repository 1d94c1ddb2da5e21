// Teams, split-phase and multi-address collectives, reductions and scans with functions of the program.
// run: 1 2 3 5 8 | says passed
// run: 4 5 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 5 | env GASNET_NEIGHBORHOOD=2 | says passed
#include <gasnet.h>

#include "check.h"

typedef struct { unsigned char e[4]; } matrix;

static void add(void *results, size_t n, const void *left, size_t lefts, const void *right, size_t size, int flags,
                int arg) {
  size_t i;
  (void)flags;
  CHECK_EQUAL(n, lefts);
  CHECK_EQUAL(size, sizeof(int64_t));
  for (i = 0; i < n; i++) ((int64_t *)results)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i] + arg;
}

/* does not commute */
static void multiply(void *results, size_t n, const void *left, size_t lefts, const void *right, size_t size, int flags,
                     int arg) {
  size_t i;
  (void)arg;
  CHECK_EQUAL(n, lefts);
  CHECK_EQUAL(size, sizeof(matrix));
  CHECK(flags & GASNET_COLL_NONCOMM);
  for (i = 0; i < n; i++) {
    const matrix a = ((const matrix *)left)[i], b = ((const matrix *)right)[i];
    matrix c;
    c.e[0] = (unsigned char)(a.e[0] * b.e[0] + a.e[1] * b.e[2]);
    c.e[1] = (unsigned char)(a.e[0] * b.e[1] + a.e[1] * b.e[3]);
    c.e[2] = (unsigned char)(a.e[2] * b.e[0] + a.e[3] * b.e[2]);
    c.e[3] = (unsigned char)(a.e[2] * b.e[1] + a.e[3] * b.e[3]);
    ((matrix *)results)[i] = c;
  }
}

static matrix of(unsigned node) {
  matrix m;
  m.e[0] = (unsigned char)(node + 1);
  m.e[1] = (unsigned char)(3 * node);
  m.e[2] = (unsigned char)(node * node + 2);
  m.e[3] = 5;
  return m;
}

static const int modes[] = {
  GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC,
  GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC,
  GASNET_COLL_SINGLE | GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC,
  GASNET_COLL_SINGLE | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_NOSYNC,
};

static void check_team(gasnet_team_handle_t team) {
  const unsigned size = gasnet_coll_team_size(team), me = gasnet_coll_team_rank(team);
  unsigned root, i, k;
  int64_t *all = (int64_t *)calloc(size, sizeof(*all)), *other = (int64_t *)calloc(size, sizeof(*other));
  void **addresses = (void **)calloc(size, sizeof(*addresses)), **sources = (void **)calloc(size, sizeof(*sources));
  CHECK_EQUAL(gasnet_coll_team_rank2node(team, (int)me), gasnet_mynode());
  for (i = 0; i < size; i++)
    CHECK_EQUAL(gasnet_coll_team_node2rank(team, gasnet_coll_team_rank2node(team, (int)i)), i);
  for (root = 0; root < size; root++) {
    for (k = 0; k < sizeof(modes) / sizeof(*modes); k++) {
      const int mode = modes[k];
      int64_t mine = 100 * (int64_t)me + k, got = -1, sum[2] = { -1, -1 }, pair[2], first = -1, second = -1, third = -1;
      matrix m = of(me), product, expected = of(0), so_far = of(0);
      gasnet_coll_handle_t h[4];
      /* the list of a multi-address call: one address, or one for every member */
      for (i = 0; i < size; i++) addresses[i] = sources[i] = NULL;
      addresses[mode & GASNET_COLL_SINGLE ? me : 0] = &got;
      sources[mode & GASNET_COLL_SINGLE ? me : 0] = &mine;
      gasnet_coll_broadcastM(team, addresses, root, &mine, sizeof(mine), mode);
      CHECK_EQUAL(got, 100 * (int64_t)root + k);
      for (i = 0; i < size; i++) all[i] = 1000 * (int64_t)me + i;
      gasnet_coll_scatterM(team, addresses, root, all, sizeof(*all), mode);
      CHECK_EQUAL(got, 1000 * (int64_t)root + me);
      gasnet_coll_gatherM(team, root, other, sources, sizeof(*other), mode);
      if (me == root) for (i = 0; i < size; i++) CHECK_EQUAL(other[i], 100 * (int64_t)i + k);
      addresses[mode & GASNET_COLL_SINGLE ? me : 0] = other;
      gasnet_coll_gather_allM(team, addresses, sources, sizeof(*other), mode);
      for (i = 0; i < size; i++) CHECK_EQUAL(other[i], 100 * (int64_t)i + k);
      sources[mode & GASNET_COLL_SINGLE ? me : 0] = all;
      gasnet_coll_exchangeM(team, addresses, sources, sizeof(*other), mode);
      for (i = 0; i < size; i++) CHECK_EQUAL(other[i], 1000 * (int64_t)i + me);
      /* several at a time */
      h[0] = gasnet_coll_broadcast_nb(team, &first, root, &mine, sizeof(mine), mode);
      h[1] = gasnet_coll_scatter_nb(team, &second, root, all, sizeof(*all), mode);
      h[2] = gasnet_coll_exchange_nb(team, other, all, sizeof(*all), mode);
      h[3] = gasnet_coll_broadcastM_nb(team, addresses, root, NULL, 0, mode);
      if (k % 2) gasnet_coll_wait_sync_all(h, 4);
      else {
        int done = 0;
        while (!done) {
          const int result = gasnet_coll_try_sync_some(h, 4);
          CHECK(result == GASNET_OK || result == GASNET_ERR_NOT_READY);
          done = gasnet_coll_try_sync_all(h, 4) == GASNET_OK;
        }
      }
      for (i = 0; i < 4; i++) CHECK(h[i] == GASNET_COLL_INVALID_HANDLE);
      CHECK_EQUAL(first, 100 * (int64_t)root + k);
      CHECK_EQUAL(second, 1000 * (int64_t)root + me);
      for (i = 0; i < size; i++) CHECK_EQUAL(other[i], 1000 * (int64_t)i + me);
      h[0] = gasnet_coll_gather_all_nb(team, other, &mine, sizeof(mine), mode);
      gasnet_coll_wait_sync(h[0]);
      CHECK_EQUAL(other[size - 1], 100 * (int64_t)(size - 1) + k);
      h[0] = gasnet_coll_gather_nb(team, root, all, &mine, sizeof(mine), mode);
      while (gasnet_coll_try_sync(h[0]) != GASNET_OK) {}
      if (me == root) CHECK_EQUAL(all[size - 1], 100 * (int64_t)(size - 1) + k);
      /* reductions */
      pair[0] = me;
      pair[1] = 2 * (int64_t)me + 1;
      gasnet_coll_reduce(team, root, sum, pair, 0, 0, sizeof(*pair), 2, 0, 0, mode);
      if (me == root) {
        CHECK_EQUAL(sum[0], (int64_t)size * (size - 1) / 2);
        CHECK_EQUAL(sum[1], (int64_t)size * size);
      }
      h[0] = gasnet_coll_reduce_nb(team, root, &third, pair, 0, 0, sizeof(*pair), 1, 0, 10, mode);
      gasnet_coll_wait_sync_some(h, 1);
      if (me == root) CHECK_EQUAL(third, (int64_t)size * (size - 1) / 2 + 10 * (int64_t)(size - 1));
      sources[mode & GASNET_COLL_SINGLE ? me : 0] = &m;
      gasnet_coll_reduceM(team, root, &product, sources, 0, 0, sizeof(m), 1, 1, 0, mode);
      for (i = 1; i < size; i++) {
        matrix next = of(i);
        multiply(&expected, 1, &expected, 1, &next, sizeof(next), GASNET_COLL_NONCOMM, 0);
        if (i <= me) so_far = expected;
      }
      if (me == root) CHECK(!memcmp(&product, &expected, sizeof(product)));
      gasnet_coll_scan(team, &product, 0, 0, &m, 0, 0, sizeof(m), 1, 1, 0, mode);
      CHECK(!memcmp(&product, &so_far, sizeof(product)));
    }
  }
  for (i = 0; i < 20; i++) {
    int id = -1;
    const int named = i % 3;
    gasnet_coll_barrier_notify(team, (int)i, named ? 0 : GASNET_BARRIERFLAG_ANONYMOUS);
    if (i % 2) OK(gasnet_coll_barrier_wait(team, (int)i, named ? 0 : GASNET_BARRIERFLAG_ANONYMOUS));
    else while (gasnet_coll_barrier_try(team, (int)i, named ? 0 : GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) {}
    CHECK_EQUAL(gasnet_coll_barrier_result(team, &id) == 0, named != 0);
    if (named) CHECK_EQUAL(id, i);
  }
  if (size > 1) CHECK_EQUAL(gasnet_coll_barrier(team, (int)me, 0), GASNET_ERR_BARRIER_MISMATCH);
  free(all);
  free(other);
  free(addresses);
  free(sources);
}

int main(int argc, char **argv) {
  gasnet_coll_fn_entry_t functions[2];
  gasnet_team_handle_t row, column, back;
  gasnet_seginfo_t scratch;
  functions[0].fnptr = add;
  functions[0].flags = 0;
  functions[1].fnptr = multiply;
  functions[1].flags = GASNET_COLL_NONCOMM;
  memset(&scratch, 0, sizeof(scratch));
  start(&argc, &argv, NULL, 0);
  gasnet_coll_init(NULL, 0, functions, 2, 0);
  check_team(GASNET_TEAM_ALL);
  row = gasnet_coll_team_split(GASNET_TEAM_ALL, gasnet_mynode() / 2, gasnet_mynode() % 2, &scratch);
  check_team(row);
  column = gasnet_coll_team_split(GASNET_TEAM_ALL, gasnet_mynode() % 2, gasnet_nodes() - gasnet_mynode(), &scratch);
  CHECK(gasnet_coll_team_rank2node(column, 0) >= gasnet_mynode());
  check_team(column);
  back = gasnet_coll_team_split(column, 7, gasnet_coll_team_size(column) - gasnet_coll_team_rank(column), &scratch);
  check_team(back);
  gasnet_coll_team_free(back);
  gasnet_coll_team_free(column);
  gasnet_coll_team_free(row);
  finish();
}
