// Handler-safe locks: exclusion among threads and handlers, and every misuse that the rule checks catch.
// mode: seq par
// run: 1 2 3 4 | args 0 | says passed
// run: 2 | args 0 | env GASNET_CHECK=1 | says passed
// run: 2 | args 0 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 1 2 | args 1 | env GASNET_CHECK=1 | status 134 | says no-interrupt sections do not nest
// run: 1 2 | args 2 | env GASNET_CHECK=1 | status 134 | says outside a no-interrupt section
// run: 1 2 | args 3 | env GASNET_CHECK=1 | status 134 | says initialized already
// run: 1 2 | args 4 | env GASNET_CHECK=1 | status 134 | says was not initialized
// run: 1 2 | args 5 | env GASNET_CHECK=1 | status 134 | says does not hold the lock
// run: 1 2 | args 6 | env GASNET_CHECK=1 | status 134 | says reverse order
// run: 1 2 | args 7 | env GASNET_CHECK=1 | status 134 | says not recursive
// run: 1 2 | args 8 | env GASNET_CHECK=1 | status 134 | says not recursive
// run: 1 2 | args 9 | env GASNET_CHECK=1 | status 134 | says gasnet_AMPoll was called while holding
// run: 1 2 | args 10 | env GASNET_CHECK=1 | status 134 | says gasnet_AMPoll was called in a no-interrupt section
// run: 1 2 | args 11 | env GASNET_CHECK=1 | status 134 | says returned while holding
// run: 1 2 | args 12 | env GASNET_CHECK=1 | status 134 | says gasnet_AMReply was called while holding
// run: 1 2 | args 13 | env GASNET_CHECK=1 | status 134 | says gasnet_AMRequest was called while holding
// run: 1 2 | args 14 | status 134 | says gasnet_hsl_destroy: the lock is held
#include <gasnet.h>

#include "check.h"

#if GASNET_PAR
  #include <pthread.h>
  #define THREADS 4
#else
  #define THREADS 1
#endif
#define EACH 500

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER, second;
static int counter; /* guarded by lock */
static gasnett_atomic_t answers = gasnett_atomic_init(0);
static volatile int busy_answer;

static void add_one(void) {
  gasnet_hsl_lock(&lock);
  counter++;
  gasnet_hsl_unlock(&lock);
}
static void request(gasnet_token_t token) {
  add_one();
  OK(gasnet_AMReplyShort0(token, 202));
}
static void reply(gasnet_token_t token) {
  (void)token;
  while (gasnet_hsl_trylock(&lock) != GASNET_OK) {}
  counter++;
  gasnet_hsl_unlock(&lock);
  gasnett_atomic_increment(&answers, GASNETT_ATOMIC_REL);
}
static void keeps(gasnet_token_t token) { (void)token; gasnet_hsl_lock(&lock); }
static void answers_holding(gasnet_token_t token) {
  gasnet_hsl_lock(&lock);
  (void)gasnet_AMReplyShort0(token, 202);
}

static void *work(void *unused) {
  int i;
  (void)unused;
  for (i = 0; i < EACH; i++) {
    OK(gasnet_AMRequestShort0(right_neighbour(), 201));
    add_one();
  }
  GASNET_BLOCKUNTIL((int)gasnett_atomic_read(&answers, GASNETT_ATOMIC_ACQ) == EACH * THREADS);
  return NULL;
}

static void misuse(int which) {
  int ignored = 0;
  switch (which) {
    case 1: gasnet_hold_interrupts(); gasnet_hold_interrupts(); break;
    case 2: gasnet_resume_interrupts(); break;
    case 3: gasnet_hsl_init(&lock); break;
    case 4: gasnet_hsl_destroy(&lock); gasnet_hsl_destroy(&lock); break;
    case 5: gasnet_hsl_unlock(&lock); break;
    case 6: gasnet_hsl_lock(&lock); gasnet_hsl_lock(&second); gasnet_hsl_unlock(&lock); break;
    case 7: gasnet_hsl_lock(&lock); gasnet_hsl_lock(&lock); break;
    case 8: ignored += gasnet_hsl_trylock(&lock); ignored += gasnet_hsl_trylock(&lock); break;
    case 9: gasnet_hsl_lock(&lock); gasnet_AMPoll(); break;
    case 10: gasnet_hold_interrupts(); gasnet_AMPoll(); break;
    case 11: gasnet_AMRequestShort0(gasnet_mynode(), 203); GASNET_BLOCKUNTIL(0); break;
    case 12: gasnet_AMRequestShort0(gasnet_mynode(), 204); GASNET_BLOCKUNTIL(0); break;
    case 13: gasnet_hsl_lock(&lock); gasnet_AMRequestShort0(gasnet_mynode(), 201); break;
    case 14: gasnet_hsl_lock(&lock); gasnet_hsl_destroy(&lock); break;
  }
  printf("ERROR: misuse %d went unnoticed (%d)\n", which, ignored);
  gasnet_exit(99);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { HANDLER(201, request), HANDLER(202, reply), HANDLER(203, keeps),
                                       HANDLER(204, answers_holding) };
  start(&argc, &argv, handlers, 4);
  gasnet_hsl_init(&second);
  if (argc > 1 && atoi(argv[1])) misuse(atoi(argv[1]));

  gasnet_hsl_lock(&lock);
  gasnet_resume_interrupts(); /* ignored while a lock is held */
  gasnet_hsl_lock(&second);
  CHECK(gasnet_mynode() < gasnet_nodes());
  gasnet_hsl_unlock(&second);
  gasnet_hold_interrupts();
  gasnet_hsl_unlock(&lock);
  gasnet_hold_interrupts();
  gasnet_resume_interrupts();
  OK(gasnet_hsl_trylock(&lock));
#if GASNET_PAR
  if (!gasnet_getenv("GASNET_CHECK")) CHECK_EQUAL(gasnet_hsl_trylock(&lock), GASNET_ERR_NOT_READY);
#endif
  gasnet_hsl_unlock(&lock);
  barrier();
#if GASNET_PAR
  {
    pthread_t threads[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (i = 0; i < THREADS; i++) CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
  }
#else
  work(NULL);
#endif
  barrier();
  CHECK_EQUAL(counter, 3 * EACH * THREADS);
  gasnet_hsl_destroy(&second);
  finish();
}
