// Messages sent before a barrier are handled when it ends, where memory is shared: no rule, but AML's habit.
// run: 1 2 3 4 8 | says passed
// run: 2 4 | args try | says passed
#include <gasnet.h>

#include "check.h"

enum { COUNT = 0x81, ROUNDS = 20, MESSAGES = 150 };

static int handled, with_try;

static void count(gasnet_token_t token, void *data, size_t len, gasnet_handlerarg_t round) {
  (void)token;
  CHECK_EQUAL(len, sizeof(int));
  CHECK_EQUAL(*(int *)data, round);
  ++handled;
}

static void meet(void) {
  const int anonymous = GASNET_BARRIERFLAG_ANONYMOUS;
  int result;
  gasnet_barrier_notify(0, anonymous);
  if (!with_try) {
    OK(gasnet_barrier_wait(0, anonymous));
    return;
  }
  do result = gasnet_barrier_try(0, anonymous);
  while (result == GASNET_ERR_NOT_READY);
  OK(result);
}

static int shares_memory(void) {
  gasnet_nodeinfo_t *nodes = (gasnet_nodeinfo_t *)malloc(gasnet_nodes() * sizeof(*nodes));
  gasnet_node_t i;
  int all = 1;
  OK(gasnet_getNodeInfo(nodes, (int)gasnet_nodes()));
  for (i = 0; i < gasnet_nodes(); ++i) all = all && nodes[i].supernode == nodes[0].supernode;
  free(nodes);
  return all;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {HANDLER(COUNT, count)};
  int round, i, k;
  start(&argc, &argv, handlers, 1);
  with_try = argc > 1;
  for (round = 1; round <= ROUNDS && check_failures == 0; ++round) {
    const int others = (int)gasnet_nodes() - 1;
    for (k = 0; k < MESSAGES; ++k) {
      for (i = 1; i <= others; ++i) {
        const gasnet_node_t to = (gasnet_mynode() + (gasnet_node_t)i) % gasnet_nodes();
        OK(gasnet_AMRequestMedium1(to, COUNT, &round, sizeof(round), round));
      }
    }
    meet();
    if (shares_memory()) CHECK_EQUAL(handled, round * MESSAGES * others);
    /* Elsewhere they may still be under way; and nobody begins the next round before all have counted. */
    GASNET_BLOCKUNTIL(handled >= round * MESSAGES * others);
    meet();
  }
  finish();
  return 0;
}
