// Ranks with different limits of a segment: the largest segment of all is the smallest of their limits.
// mode: seq par
// run: 1 2 3 4 | launcher | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | launcher | says passed
// run: 2 | env GASNET_CONDUIT=netvm | launcher | says passed
#include <gasnet.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv) {
  char limit[32];
  uintptr_t own, all, smallest = UINTPTR_MAX;
  gasnet_node_t node;

  /* A rank does not know its number yet. Processes have different ones, so the limits differ. */
  snprintf(limit, sizeof(limit), "%ld", (4L << 20) + getpid() % 4096 * (long)GASNET_PAGESIZE);
  setenv("GASNET_MAX_SEGSIZE", limit, 1);
  OK(gasnet_init(&argc, &argv));
  own = gasnet_getMaxLocalSegmentSize();
  all = gasnet_getMaxGlobalSegmentSize();
  CHECK_EQUAL(own, atol(limit));
  OK(gasnet_attach(NULL, 0, all, 0));

  *(uintptr_t *)segment_of(gasnet_mynode()) = own;
  barrier();
  for (node = 0; node < gasnet_nodes(); node++) {
    uintptr_t theirs;
    gasnet_get(&theirs, node, segment_of(node), sizeof(theirs));
    if (theirs < smallest) smallest = theirs;
  }
  CHECK_EQUAL(all, smallest);
  CHECK_EQUAL(gasnet_getMaxGlobalSegmentSize(), smallest);
  finish();
}
