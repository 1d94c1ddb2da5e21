// Starts, says who it is, and leaves, as the smallest clients do.
// run: 1 2 3 4 8 | says hello from the last of all
// run: 4 | launcher | says hello from the last of all
// run: 2 | env GASNET_NEIGHBORHOOD=off | says hello from the last of all
// run: 64 | says hello from the last of all
#include <gasnet.h>

#include <stdio.h>

int main(int argc, char **argv) {
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (gasnet_mynode() == gasnet_nodes() - 1) printf("hello from the last of all\n");
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_exit(0);
  return 0;
}
