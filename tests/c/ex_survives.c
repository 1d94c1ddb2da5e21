// GASNet-EX clients whose ranks are killed at any moment: teams, endpoints, segments and domains are made anew in each world.
// mode: par
// std: c++11
// run: 2 4 | args 1 | launcher --on-death heal | says all is right
// run: 3 5 | args 2 | launcher --on-death shrink | says all is right
// run: 3 | args 3 | launcher --on-death heal | env GASNET_CHECK=1 | says all is right
// run: 3 | args 4 | launcher --on-death heal | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | says all is right
// run: 3 | args 0 | says all is right
// run: 3 | args stale | launcher --on-death shrink | status 1 | says is no team, or one that was destroyed
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_survive.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define ROUNDS 25
#define BYTES 65536

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t all;

/* What this process keeps: how many rounds are over. */
static uint64_t rounds;
static volatile int replies;

static void request(gex_Token_t token) { gex_AM_ReplyShort0(token, 201, 0); }
static void reply(gex_Token_t token) {
  (void)token;
  replies++;
}

static void must(int holds, const char *what) {
  if (holds) return;
  printf("ERROR: %s\n", what);
  gasnet_exit(1);
}

static uint64_t over_all(gex_TM_t tm, uint64_t value, gex_OP_t op) {
  uint64_t result = 0;
  gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &result, &value, GEX_DT_U64, 8, 1, op, NULL, NULL, 0));
  return result;
}

static void work(void *arg) {
  gex_AM_Entry_t table[] = {
      {200, (gex_AM_Fn_t)request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "request"},
      {201, (gex_AM_Fn_t)reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 0, NULL, "reply"}};
  const gex_Rank_t me = gex_TM_QueryRank(all), n = gex_TM_QuerySize(all);
  gex_Segment_t attached, made;
  gex_EP_t other;
  gex_TM_t half;
  gex_AD_t domain;
  void *counter = NULL, *there = NULL;
  (void)arg;
  must(gex_System_QueryJobRank() == me && gex_System_QueryJobSize() == n, "who is who");
  must(gex_Segment_Attach(&attached, all, BYTES) == GASNET_OK, "attach");
  must(gex_EP_RegisterHandlers(ep, table, 2) == GASNET_OK, "handlers");
  must(gex_EP_Create(&other, client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_OK && gex_EP_QueryIndex(other) == 1, "endpoint");
  must(gex_Segment_Create(&made, client, NULL, BYTES, GEX_MK_HOST, 0) == GASNET_OK, "segment");
  must(gex_EP_BindSegment(other, made, 0) == GASNET_OK, "bind");
  must(gex_EP_PublishBoundSegment(all, &other, 1, 0) == GASNET_OK, "publish");
  gex_TM_Split(&half, all, (int)(me % 2), (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  gex_AD_Create(&domain, all, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, 0);
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, 0, &counter, NULL, NULL, 0));
  rounds = over_all(all, rounds, GEX_OP_MAX);
  for (const uint64_t first = rounds; rounds < ROUNDS; rounds++) {
    const gex_TM_t pair = gex_TM_Pair(other, 1);
    const gex_Rank_t next = (me + 1) % n;
    const uint64_t sent = rounds * 1000 + me;
    uint64_t got = 0, before;
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &before, 0, (uint64_t *)counter, GEX_OP_FADD, 1, 0, 0));
    must(over_all(half, 1, GEX_OP_ADD) == (n + 1 - me % 2) / 2, "members of a half");
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, next, &there, NULL, NULL, 0));
    gex_RMA_PutBlocking(pair, next, there, &sent, 8, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
    memcpy(&got, gex_Segment_QueryAddr(made), 8);
    must(got == rounds * 1000 + (me + n - 1) % n, "a put to an endpoint");
    replies = 0;
    gex_AM_RequestShort0(all, next, 200, 0);
    while (replies == 0) gasnet_AMPoll();
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &before, 0, (uint64_t *)counter, GEX_OP_GET, 0, 0, 0));
    must(before >= (rounds + 1 - first) * n, "additions");
    gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
    usleep(1000);
  }
}

static void meet(void *arg) {
  (void)arg;
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
}

/* A team of a world that is over. */
static void stale(void) {
  gex_TM_t half;
  gex_TM_Split(&half, all, 0, (int)gex_TM_QueryRank(all), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  meet(NULL);
  if (gex_TM_QueryRank(all) == 1) kill(getpid(), SIGKILL);
  if (gasnetx_attempt(meet, NULL) != GASNETX_DIED) gasnet_exit(4);
  gasnetx_shrink();
  gex_TM_QueryRank(half);
}

static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  if (gex_Client_Init(&client, &ep, &all, "survives", &argc, &argv, 0) != GASNET_OK) return 2;
  if (argc > 1 && !strcmp(argv[1], "stale")) stale();
  /* The first processes of all ranks but one die at some moment. */
  if (seed > 0 && gasnetx_incarnation() == 0 && gex_System_QueryJobRank() != seed % gex_System_QueryJobSize()) {
    struct itimerval timer = {{0, 0}, {0, 0}};
    srand(seed * 1000 + gex_System_QueryJobRank() * 17);
    timer.it_value.tv_usec = 1 + rand() % 60000;
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  if (gasnetx_survive(work, NULL) != GASNET_OK) return 2;
  must(rounds == ROUNDS, "rounds");
  printf("rank %u in world %u: all is right\n", gex_System_QueryJobRank(), gasnetx_epoch());
  gasnet_exit(0);
  return 0;
}
