// Lifecycle: what may be called when, handler indices, segment sizes, node information, error codes.
// run: 1 2 3 4 8 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_MAX_SEGSIZE=4M | says passed
#include <gasnet.h>

#include "check.h"

static int touched;
static void hook(void *base, uintptr_t size) {
  touched = base != NULL && size >= SEGMENT_BYTES;
}
static void nothing(gasnet_token_t token) { (void)token; }

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {
    HANDLER(0, nothing), HANDLER(254, nothing), HANDLER(0, nothing), HANDLER(128, nothing), HANDLER(0, nothing),
  };
  gasnet_handlerentry_t reserved[] = { HANDLER(127, nothing) }, twice[] = { HANDLER(200, nothing), HANDLER(200, nothing) };
  gasnet_seginfo_t segments[300];
  gasnet_nodeinfo_t nodes[300];
  gasnet_node_t i;
  uintptr_t most;

  OK(gasnet_init(&argc, &argv));
  CHECK_EQUAL(gasnet_init(&argc, &argv), GASNET_ERR_NOT_INIT);
  CHECK(gasnet_mynode() < gasnet_nodes());
  CHECK_EQUAL(gasnet_getSegmentInfo(segments, 1), GASNET_ERR_NOT_INIT);
  most = gasnet_getMaxLocalSegmentSize();
  CHECK(most >= SEGMENT_BYTES && most % GASNET_PAGESIZE == 0);
  CHECK(gasnet_getMaxGlobalSegmentSize() <= most);
  CHECK(gasnet_getenv("PATH") != NULL);
  CHECK(gasnet_getenv("GASNET_TEST_NO_SUCH_NAME") == NULL);

  CHECK_EQUAL(gasnet_attach(NULL, 0, SEGMENT_BYTES + 1, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gasnet_attach(NULL, 0, most + GASNET_PAGESIZE, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gasnet_attach(reserved, 1, SEGMENT_BYTES, 0), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gasnet_attach(twice, 2, SEGMENT_BYTES, 0), GASNET_ERR_BAD_ARG);
  gasnet_client_attach_hook = hook;
  OK(gasnet_attach(handlers, 5, SEGMENT_BYTES, 0));
  CHECK(touched);
  CHECK_EQUAL(gasnet_attach(NULL, 0, SEGMENT_BYTES, 0), GASNET_ERR_NOT_INIT);
  /* indices that do not matter: from the top, in the order of the table */
  CHECK_EQUAL(handlers[0].index, 255);
  CHECK_EQUAL(handlers[2].index, 253);
  CHECK_EQUAL(handlers[4].index, 252);

  memset(segments, 0x55, sizeof(segments));
  OK(gasnet_getSegmentInfo(segments, 300));
  for (i = 0; i < gasnet_nodes(); i++) {
    CHECK(segments[i].size >= SEGMENT_BYTES && segments[i].size % GASNET_PAGESIZE == 0);
    CHECK((uintptr_t)segments[i].addr % GASNET_PAGESIZE == 0);
  }
  CHECK_EQUAL(segments[i].size, (uintptr_t)0x5555555555555555);
  OK(gasnet_getSegmentInfo(segments, 0));
  memset(segments[gasnet_mynode()].addr, 1, SEGMENT_BYTES);

  OK(gasnet_getNodeInfo(nodes, 300));
  for (i = 0; i < gasnet_nodes(); i++) {
    CHECK(nodes[i].host <= i && nodes[i].supernode <= i);
    if (nodes[i].supernode == nodes[gasnet_mynode()].supernode && i != gasnet_mynode()) {
      const char *here = (char *)segments[i].addr + nodes[i].offset;
      barrier();
      CHECK_EQUAL(here[SEGMENT_BYTES - 1], 1);
    } else {
      barrier();
    }
  }
  CHECK_EQUAL(gasnet_set_waitmode(17), GASNET_ERR_BAD_ARG);
  OK(gasnet_set_waitmode(GASNET_WAIT_SPIN));
  OK(gasnet_set_waitmode(GASNET_WAIT_BLOCK));
  barrier();
  OK(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK));
  for (i = 9999; i < 10007; i++) {
    CHECK(gasnet_ErrorName((int)i)[0] != 0);
    CHECK(gasnet_ErrorDesc((int)i)[0] != 0);
  }
  finish();
}
