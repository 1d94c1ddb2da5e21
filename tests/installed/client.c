/* A small client, C and C++ both: every rank puts to the next one, and checks what it got. */
#include <gasnet.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gasnet_seginfo_t segments[64];
  gasnet_node_t me, right, left;
  int expected;
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
  me = gasnet_mynode();
  right = (gasnet_node_t)((me + 1) % gasnet_nodes());
  left = (gasnet_node_t)((me + gasnet_nodes() - 1) % gasnet_nodes());
  gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
  gasnet_put_val(right, segments[right].addr, 100 + me, sizeof(int));
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  expected = 100 + (int)left;
  if (*(volatile int *)segments[me].addr != expected) {
    printf("rank %d: %d instead of %d\n", (int)me, *(int *)segments[me].addr, expected);
    gasnet_exit(1);
  }
  if (me == 0) printf("passed: %d ranks, for %s\n", (int)gasnet_nodes(), GASNET_CONDUIT_NAME_STR);
  gasnet_exit(0);
  return 0;
}
