// Jobs whose ranks are killed at any moment, and go on: a table of results that all ranks share.
// mode: seq par
// compiler: gcc clang
// std: gnu11 c++11
// run: 1 2 3 5 | args 1 | launcher --on-death heal | says all is right
// run: 2 3 5 | args 2 | launcher --on-death shrink | says all is right
// run: 3 | args 3 | launcher --on-death heal | env GASNET_CHECK=1 | says all is right
// run: 3 | args 4 | launcher --on-death shrink | env GASNET_NEIGHBORHOOD=off | says all is right
// run: 3 | args 5 | launcher --on-death heal | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | says all is right
// run: 3 | args 0 | says all is right
// run: 2 | args attach-first | status 134 | says gasnetx_survive was called after the segment was attached
// run: 2 | args twice | status 134 | says gasnetx_survive was called twice
// run: 2 | args nested | status 134 | says gasnetx_attempt in an attempt
// run: 2 | args for-nothing | status 134 | says do not survive deaths
// run: 3 | args by-hand | launcher --on-death shrink | says by hand
// run: 3 | args outside | launcher --on-death shrink | status 1 | says outside of an attempt
// run: 3 | args inside | launcher --on-death shrink | status 1 | says gasnetx_shrink in an attempt
// run: 3 | args other | launcher --on-death shrink | status 1 | says call gasnetx_shrink
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_survive.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define ITEMS 600
#define HANDLER 200

/* What a rank knows, world after world: the results, 0 where there is none yet. */
static uint64_t results[ITEMS];
static volatile int replies;

static void request(gasnet_token_t token, gasnet_handlerarg_t item) {
  gasnet_AMReplyShort1(token, HANDLER + 1, item);
}
static void reply(gasnet_token_t token, gasnet_handlerarg_t item) {
  (void)token;
  (void)item;
  replies++;
}

static uint64_t value(int item) { return (uint64_t)item * item + 7; }

/* The results of all ranks are the larger ones of each item: they put what they have into a part of rank 0, which combines. */
static void share(const gasnet_seginfo_t *segments) {
  const size_t bytes = sizeof results;
  const gasnet_node_t me = gasnet_mynode();
  gasnet_put(0, (char *)segments[0].addr + me * bytes, results, bytes);
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (me == 0) {
    uint64_t *all = (uint64_t *)segments[0].addr;
    for (gasnet_node_t n = 1; n < gasnet_nodes(); n++) {
      for (int i = 0; i < ITEMS; i++) {
        if (all[n * ITEMS + i] > all[i]) all[i] = all[n * ITEMS + i];
      }
    }
  }
  gasnet_barrier_notify(1, 0);
  while (gasnet_barrier_try(1, 0) == GASNET_ERR_NOT_READY) {}
  gasnet_wait_syncnb(gasnet_get_nb_bulk(results, 0, segments[0].addr, bytes));
}

static void work(void *arg) {
  gasnet_handlerentry_t table[] = {{HANDLER, (void (*)())request}, {HANDLER + 1, (void (*)())reply}};
  gasnet_seginfo_t segments[16];
  const unsigned pause = *(const unsigned *)arg;
  if (gasnet_attach(table, 2, (16 * sizeof results + 65535) / 65536 * 65536, 0) != GASNET_OK) gasnet_exit(3);
  gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
  for (int round = 0; round < 30; round++) {
    const gasnet_node_t me = gasnet_mynode(), n = gasnet_nodes();
    share(segments);
    for (int i = 0, left = 20; i < ITEMS && left > 0; i++) {
      if (results[i] != 0) continue;
      left--;
      if ((gasnet_node_t)i % n == me) results[i] = value(i);
    }
    replies = 0;
    gasnet_AMRequestShort1((me + 1) % n, HANDLER, round);
    if (round % 2) {
      GASNET_BLOCKUNTIL(replies == 1);
    } else {
      while (replies == 0) gasnet_AMPoll();
    }
    usleep(pause);
  }
  share(segments);
}

static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}

static void attach(void *arg) {
  (void)arg;
  if (gasnet_attach(NULL, 0, 65536, 0) != GASNET_OK) gasnet_exit(3);
}

static void barrier(void *arg) {
  (void)arg;
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void nested(void *arg) { gasnetx_attempt(attach, arg); }
static void shrink(void *arg) {
  (void)arg;
  gasnetx_shrink();
}

/* All that can be done in a wrong way, and an attempt with its shrink. */
static void rules(const char *what) {
  gex_Rank_t dead[2];
  if (!strcmp(what, "attach-first")) {
    attach(NULL);
    gasnetx_survive(attach, NULL);
  } else if (!strcmp(what, "twice")) {
    gasnetx_survive(attach, NULL);
    gasnetx_survive(attach, NULL);
  } else if (!strcmp(what, "nested")) {
    gasnetx_survive(nested, NULL);
  } else if (!strcmp(what, "for-nothing")) {
    gasnetx_shrink();
  } else {
    attach(NULL);
    barrier(NULL);
    if (gasnet_mynode() == 1) kill(getpid(), SIGKILL);
    if (!strcmp(what, "outside")) barrier(NULL);
    if (gasnetx_attempt(barrier, NULL) != GASNETX_DIED) gasnet_exit(4);
    if (gasnetx_dead(dead, 2) != 1 || dead[0] != 1) gasnet_exit(5);
    if (!strcmp(what, "inside")) gasnetx_attempt(shrink, NULL);
    if (!strcmp(what, "other")) gasnetx_heal();
    gasnetx_shrink();
    if (gasnet_nodes() != 2 || gasnetx_first_number(1) != 2) gasnet_exit(6);
    attach(NULL);
    if (gasnetx_attempt(barrier, NULL) != GASNET_OK) gasnet_exit(7);
    printf("by hand\n");
  }
}

int main(int argc, char **argv) {
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  static unsigned pause;
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 2;
  if (argc > 1 && argv[1][0] > '9') {
    rules(argv[1]);
    gasnet_exit(0);
  }
  /* The first processes of all ranks but one die at some moment. */
  if (seed > 0 && gasnetx_incarnation() == 0 && gasnetx_first_number(gasnet_mynode()) != seed % gasnet_nodes()) {
    struct itimerval timer = {{0, 0}, {0, 0}};
    srand(seed * 1000 + gasnet_mynode() * 17);
    timer.it_value.tv_usec = 1 + rand() % 60000;
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  pause = seed > 0 ? 1000 : 0;
  if (gasnetx_survive(work, &pause) != GASNET_OK) return 2;
  for (int i = 0; i < ITEMS; i++) {
    if (results[i] != value(i)) {
      printf("ERROR: item %d is %llu\n", i, (unsigned long long)results[i]);
      gasnet_exit(1);
    }
  }
  printf("rank %u in world %u: all is right\n", gasnet_mynode(), gasnetx_epoch());
  gasnet_exit(0);
  return 0;
}
