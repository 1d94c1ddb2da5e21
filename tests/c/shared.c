// The shared library: its data table is found by inline code in the program, and the client's variables by it.
// shared: yes
// std: gnu11 gnu++17
// run: 1 2 4 | says passed
#include <gasnet.h>

#include "check.h"

/* the program's own wish for the largest segment */
const char *gasnet_max_segsize_str = "8MB";

int main(int argc, char **argv) {
  int value = 42;
  OK(gasnet_init(&argc, &argv));
  CHECK_EQUAL(gasnet_getMaxLocalSegmentSize(), 8 << 20);
  OK(gasnet_attach(NULL, 0, SEGMENT_BYTES, 0));
  CHECK(gasnet_nodes() > gasnet_mynode());
  gasnet_put(right_neighbour(), segment_of(right_neighbour()), &value, sizeof(value));
  barrier();
  CHECK_EQUAL(*(int *)segment_of(gasnet_mynode()), 42);
  finish();
  return 0;
}
