// The table of barrier results: who named what, and what notify, wait, try and result then say.
// run: 1 2 3 4 8 | args 30 | says passed
// run: 3 | args 30 try | says passed
// run: 2 5 | args 10 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | args notify-twice | status 1 | says two notifies without a wait
// run: 2 | args wait-only | status 1 | says a wait without a notify
#include <gasnet.h>
#include <gasnet_tools.h>

#include "check.h"

#define A GASNET_BARRIERFLAG_ANONYMOUS
#define M GASNET_BARRIERFLAG_MISMATCH

static int with_try;

static int wait_for(int id, int flags) {
  int result;
  if (!with_try) return gasnet_barrier_wait(id, flags);
  do {
    result = gasnet_barrier_try(id, flags);
  } while (result == GASNET_ERR_NOT_READY);
  return result;
}

static int both(int id, int flags) {
  gasnet_barrier_notify(id, flags);
  return wait_for(id, flags);
}

static void round_of(int i) {
  const gasnet_node_t me = gasnet_mynode(), n = gasnet_nodes(), chosen = (gasnet_node_t)i % n;
  const int name = (int)(0xcafef00du ^ (unsigned)i);
  int id = 0;

  /* all name the same */
  OK(both(name, 0));
  CHECK_EQUAL(gasnet_barrier_result(&id), 0);
  CHECK_EQUAL(id, name);
  OK(gasnet_barrier(name, 0));

  /* all anonymous, with different ids; then any name will do */
  OK(both((int)me, A));
  CHECK(gasnet_barrier_result(&id) != 0);
  gasnet_barrier_notify((int)me, A);
  OK(wait_for(name, 0));
  CHECK(gasnet_barrier_result(&id) != 0);
  OK(gasnet_barrier((int)me, GASNET_BARRIERFLAG_UNNAMED));

  /* named notify, anonymous wait */
  gasnet_barrier_notify(name, 0);
  OK(wait_for(0, A));
  CHECK_EQUAL(gasnet_barrier_result(&id), 0);
  CHECK_EQUAL(id, name);

  /* notify and wait name differently */
  gasnet_barrier_notify(0, 0);
  CHECK_EQUAL(wait_for(1, 0), GASNET_ERR_BARRIER_MISMATCH);

  /* one asks for a mismatch: everybody gets it, split or not */
  gasnet_barrier_notify(name, me == chosen ? M : 0);
  CHECK_EQUAL(wait_for(name, me == chosen ? M : 0), GASNET_ERR_BARRIER_MISMATCH);
  CHECK_EQUAL(gasnet_barrier(name, me == chosen ? M : 0), GASNET_ERR_BARRIER_MISMATCH);

  if (n > 1) {
    /* one is anonymous, the others agree: the name reaches the anonymous one */
    OK(both(me == chosen ? 12345 : name, me == chosen ? A : 0));
    CHECK_EQUAL(gasnet_barrier_result(&id), 0);
    CHECK_EQUAL(id, name);
    /* and it may wait with that name */
    gasnet_barrier_notify(5, me == chosen ? A : 0);
    OK(wait_for(5, 0));
    /* but not with another */
    gasnet_barrier_notify(me == chosen ? 12345 : 6, me == chosen ? A : 0);
    if (me == chosen) CHECK_EQUAL(wait_for(12345, 0), GASNET_ERR_BARRIER_MISMATCH);
    else (void)wait_for(6, 0);
    /* one is named, the others are not */
    OK(both(me == chosen ? name : (int)me, me == chosen ? 0 : A));
    CHECK_EQUAL(gasnet_barrier_result(&id), 0);
    CHECK_EQUAL(id, name);
    /* one name differs */
    CHECK_EQUAL(both(me == chosen ? 1 : 2, 0), GASNET_ERR_BARRIER_MISMATCH);
    CHECK_EQUAL(gasnet_barrier(me == chosen ? 1 : 2, 0), GASNET_ERR_BARRIER_MISMATCH);
  }
  if (n > 2) {
    /* two names and some anonymous */
    const gasnet_node_t other = (chosen + 1) % n;
    const int flags = me == chosen || me == other ? 0 : A;
    CHECK_EQUAL(both(me == chosen ? 1 : 2, flags), GASNET_ERR_BARRIER_MISMATCH);
  }
}

int main(int argc, char **argv) {
  int i, rounds;
  gasnett_tick_t begun;
  start(&argc, &argv, NULL, 0);
  if (argc > 1 && !strcmp(argv[1], "notify-twice")) {
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_notify(0, 0);
  }
  if (argc > 1 && !strcmp(argv[1], "wait-only")) gasnet_barrier_wait(0, 0);
  rounds = argc > 1 ? atoi(argv[1]) : 10;
  with_try = argc > 2;
  begun = gasnett_ticks_now();
  for (i = 0; i < rounds; i++) round_of(i);
  /* also in a simulated job, whose time is not that of the machine */
  CHECK(gasnett_ticks_to_ns(gasnett_ticks_now() - begun) > 0);
  finish();
}
