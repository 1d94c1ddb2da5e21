// The start-up collectives: broadcast, scatter, gather and exchange of any size, while a split-phase barrier is open.
// run: 1 2 3 4 8 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
#include <gasnet.h>

#include "check.h"

#define MOST 200001
static unsigned char buffer[MOST], source[MOST];

int main(int argc, char **argv) {
  static const size_t sizes[] = { 0, 1, 8, 65536, 65537, MOST };
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;
  const int quick = GASNET_COLL_LOCAL | GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC;
  uint32_t *all;
  gasnet_node_t root, i;
  size_t s, k;
  start(&argc, &argv, NULL, 0);
  gasnet_coll_init(NULL, 0, NULL, 0, 0);
  gasnet_barrier_notify(3, 0);
  for (root = 0; root < gasnet_nodes(); root++) {
    for (s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
      memset(buffer, 0, sizeof(buffer));
      for (k = 0; k < sizes[s]; k++) source[k] = (unsigned char)(gasnet_mynode() == root ? k + root : 0);
      gasnet_coll_broadcast(GASNET_TEAM_ALL, buffer, root, source, sizes[s], s % 2 ? flags : quick);
      for (k = 0; k < sizes[s]; k++)
        if (buffer[k] != (unsigned char)(k + root)) { CHECK(!"broadcast"); break; }
    }
  }
  OK(gasnet_barrier_wait(3, 0));
  all = (uint32_t *)calloc(gasnet_nodes(), sizeof(*all));
  for (k = 0; k < 20; k++) {
    const uint32_t mine = (uint32_t)(gasnet_mynode() * 1000 + k);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine, sizeof(mine), k % 2 ? flags : quick);
    for (i = 0; i < gasnet_nodes(); i++) CHECK_EQUAL(all[i], i * 1000 + k);
  }
  free(all);

  /* blocks of odd sizes, larger than a message among them */
  {
    const size_t n = 70001, ranks = gasnet_nodes();
    unsigned char *from = (unsigned char *)malloc(n * ranks), *to = (unsigned char *)malloc(n * ranks);
    for (root = 0; root < gasnet_nodes(); root++) {
      const int how = root % 2 ? flags : quick;
      for (i = 0; i < ranks; i++) memset(from + i * n, (int)(gasnet_mynode() * 16 + i), n);
      memset(to, 0xEE, n * ranks);
      gasnet_coll_scatter(GASNET_TEAM_ALL, to, root, from, n, how);
      CHECK(to[0] == root * 16 + gasnet_mynode() && to[n - 1] == to[0]);
      CHECK(ranks == 1 || to[n] == 0xEE);
      gasnet_coll_gather(GASNET_TEAM_ALL, root, to, from, n, how);
      if (gasnet_mynode() == root)
        for (i = 0; i < ranks; i++) CHECK(to[i * n] == i * 16 && to[i * n + n - 1] == i * 16);
      gasnet_coll_exchange(GASNET_TEAM_ALL, to, from, n, how);
      for (i = 0; i < ranks; i++) {
        CHECK_EQUAL(to[i * n], i * 16 + gasnet_mynode());
        CHECK_EQUAL(to[i * n + n - 1], i * 16 + gasnet_mynode());
      }
    }
    free(from);
    free(to);
  }
  finish();
}
