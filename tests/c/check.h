/* Helpers of the C test programs. Include gasnet.h or gasnetex.h before it. */
#ifndef CHECK_H
#define CHECK_H

#include "expect.h"

#define CHECK_RANK gasnet_mynode()
#define OK(call) CHECK_EQUAL((call), GASNET_OK)

MAYBE_UNUSED static void barrier(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  OK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

/* The last call of a test: all ranks together, 0 or 1. */
MAYBE_UNUSED static void finish(void) {
  if (check_failures == 0) barrier();
  if (check_failures == 0 && gasnet_mynode() == 0) {
    printf("passed\n");
    fflush(stdout);
  }
  /* The first exit ends all ranks, also one that has not printed yet. */
  if (check_failures == 0) barrier();
  gasnet_exit(check_failures ? 1 : 0);
}

MAYBE_UNUSED static gasnet_node_t right_neighbour(void) { return (gasnet_mynode() + 1) % gasnet_nodes(); }
MAYBE_UNUSED static gasnet_node_t left_neighbour(void) {
  return (gasnet_mynode() + gasnet_nodes() - 1) % gasnet_nodes();
}

#define SEGMENT_BYTES ((uintptr_t)1 << 20)

/* The start of a node's segment. */
MAYBE_UNUSED static char *segment_of(gasnet_node_t node) {
  gasnet_seginfo_t *table = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof(*table));
  char *address;
  OK(gasnet_getSegmentInfo(table, (int)gasnet_nodes()));
  address = (char *)table[node].addr;
  free(table);
  return address;
}

#ifdef _INCLUDED_GASNET_H
MAYBE_UNUSED static void start(int *argc, char ***argv, gasnet_handlerentry_t *handlers, int count) {
  OK(gasnet_init(argc, argv));
  if (check_failures) exit(1);
  OK(gasnet_attach(handlers, count, SEGMENT_BYTES, 0));
}
#endif

/* A table entry for a handler of any type. */
#define HANDLER(index, function) { (index), (void (*)())(function) }

#endif
