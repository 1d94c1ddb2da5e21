// The calling rules of active messages and barriers, as GASNET_CHECK=1 enforces them.
// mode: seq par
// run: 1 2 | args nothing | env GASNET_CHECK=1 | says passed
// run: 1 2 | args request-in-handler | env GASNET_CHECK=1 | status 134 | says gasnet_AMRequest was called from active-message handler 201
// run: 1 2 | args put-in-handler | env GASNET_CHECK=1 | status 134 | says gasnet_put was called from active-message handler 201
// run: 1 2 | args poll-in-handler | env GASNET_CHECK=1 | status 134 | says gasnet_AMPoll was called from
// run: 1 2 | args barrier-in-handler | env GASNET_CHECK=1 | status 134 | says gasnet_barrier_notify was called from
// run: 1 2 | args wait-in-handler | env GASNET_CHECK=1 | status 134 | says GASNET_BLOCKUNTIL was called from
// run: 1 2 | args reply-twice | status 134 | says gasnet_AMReply was called twice by request handler 201
// run: 1 2 | args reply-to-reply | status 134 | says called from reply handler 202
// run: 1 2 | args bad-node | env GASNET_CHECK=1 | status 134 | says the destination is node
// run: 1 2 | args bad-handler | env GASNET_CHECK=1 | status 134 | says handler index 3 is not a client's
// run: 1 2 | args too-long | env GASNET_CHECK=1 | status 134 | says a medium payload of
// run: 1 2 | args sync-in-region | env GASNET_CHECK=1 | env GASNET_NEIGHBORHOOD=off | status 1 | never ERROR
// run: 1 2 | args nested-regions | status 1 | says access regions do not nest
// run: 1 2 | args no-region | status 1 | says no access region is open
// run: 2 3 | args collective-in-reduction | status 1 | says a function of a reduction may not enter a collective operation
// run: 2 | args barrier-in-reduction | env GASNET_NEIGHBORHOOD=off | status 1 | says a function of a reduction may not enter a barrier
#include <gasnet.h>

#include "check.h"

static const char *what = "";
static volatile int done;

static int is(const char *name) { return strcmp(what, name) == 0; }

static void request(gasnet_token_t token) {
  char byte = 1;
  if (is("request-in-handler")) gasnet_AMRequestShort0(gasnet_mynode(), 202);
  if (is("put-in-handler")) gasnet_put(gasnet_mynode(), segment_of(gasnet_mynode()), &byte, 1);
  if (is("poll-in-handler")) gasnet_AMPoll();
  if (is("barrier-in-handler")) gasnet_barrier_notify(0, 0);
  if (is("wait-in-handler")) GASNET_BLOCKUNTIL(done);
  OK(gasnet_AMReplyShort0(token, 202));
  if (is("reply-twice")) gasnet_AMReplyShort0(token, 202);
}
static void reply(gasnet_token_t token) {
  if (is("reply-to-reply")) gasnet_AMReplyShort0(token, 202);
  done = 1;
}

/* told without GASNET_CHECK, too: it would hang */
static void waits(void *results, size_t n, const void *left, size_t lefts, const void *right, size_t size, int flags,
                  int arg) {
  int mine = 1, all[16];
  (void)results, (void)n, (void)left, (void)lefts, (void)right, (void)size, (void)flags, (void)arg;
  if (is("barrier-in-reduction")) gasnet_barrier_notify(0, 0);
  gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine, sizeof(mine), GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
}

int main(int argc, char **argv) {
  gasnet_coll_fn_entry_t function = { waits, 0 };
  gasnet_handlerentry_t handlers[] = { HANDLER(201, request), HANDLER(202, reply) };
  start(&argc, &argv, handlers, 2);
  if (argc > 1) what = argv[1];
  if (is("bad-node")) gasnet_AMRequestShort0(gasnet_nodes(), 201);
  if (is("bad-handler")) gasnet_AMRequestShort0(0, 3);
  if (is("too-long")) gasnet_AMRequestMedium0(0, 201, handlers, gasnet_AMMaxMedium() + 1);
  if (is("nested-regions")) gasnet_begin_nbi_accessregion();
  if (is("nested-regions")) gasnet_begin_nbi_accessregion();
  if (is("no-region")) gasnet_end_nbi_accessregion();
  if (is("sync-in-region")) {
    gasnet_begin_nbi_accessregion();
    gasnet_wait_syncnbi_all();
    /* one node alone has nothing outstanding, and needs no check */
    if (gasnet_nodes() == 1) gasnet_exit(1);
  }
  if (is("collective-in-reduction") || is("barrier-in-reduction")) {
    int mine = 1, sum = 0;
    gasnet_coll_init(NULL, 0, &function, 1, 0);
    gasnet_coll_wait_sync(gasnet_coll_reduce_nb(GASNET_TEAM_ALL, 0, &sum, &mine, 0, 0, sizeof(mine), 1, 0, 0,
                                                GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC));
    barrier();
  }
  OK(gasnet_AMRequestShort0(right_neighbour(), 201));
  GASNET_BLOCKUNTIL(done);
  if (!is("nothing")) printf("ERROR: '%s' went unnoticed\n", what);
  finish();
}
