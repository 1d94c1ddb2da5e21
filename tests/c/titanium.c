// The calls of GASNet that a Titanium runtime lives on: objects allocated in regions of other nodes, monitors,
// bulk and indexed copies of arrays, barriers in two halves.
// mode: seq par
// run: 1 2 3 4 8 | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 3 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CONDUIT=netvm | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
#include <gasnet.h>

#include "check.h"

#if GASNET_PAR
  #include <pthread.h>
  #define THREADS 3
#else
  #define THREADS 1
#endif

/* ---- regions: memory of the segment that is given out from its start, and given back as a whole ---- */

#define REGION_BYTES ((size_t)256 << 10)
#define OBJECT_WORDS 12

static gasnet_hsl_t region_lock = GASNET_HSL_INITIALIZER;
static size_t region_used; /* guarded by region_lock */
static char **segments;

enum { ALLOCATE = 200, ALLOCATED, ENTER, ENTERED, LEAVE, LEFT, PACK, PACKED };

#define HIGH(p) ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(p) >> 32))
#define LOW(p) ((gasnet_handlerarg_t)(uint64_t)(uintptr_t)(p))
#define POINTER(high, low) ((void *)(uintptr_t)((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low)))

/* A question to another node, on the stack of the thread that waits for the answer. */
typedef struct {
  gasnett_atomic_t answered;
  void *object;
  int granted;
  char *into;
  size_t bytes;
} question_t;

static void ask(question_t *q) {
  memset(q, 0, sizeof(*q));
  gasnett_atomic_set(&q->answered, 0, 0);
}
static void answer(question_t *q) { gasnett_atomic_set(&q->answered, 1, GASNETT_ATOMIC_REL); }
static void await(question_t *q) { GASNET_BLOCKUNTIL(gasnett_atomic_read(&q->answered, GASNETT_ATOMIC_ACQ)); }

/* The message is the new object. */
static void allocate(gasnet_token_t token, void *image, size_t bytes, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  char *object = NULL;
  gasnet_node_t from;
  OK(gasnet_AMGetMsgSource(token, &from));
  gasnet_hsl_lock(&region_lock);
  if (region_used + bytes <= REGION_BYTES) {
    object = segments[gasnet_mynode()] + region_used;
    region_used += (bytes + 15) & ~(size_t)15;
  }
  gasnet_hsl_unlock(&region_lock);
  if (object) memcpy(object, image, bytes);
  OK(gasnet_AMReplyShort4(token, ALLOCATED, high, low, HIGH(object), LOW(object)));
}
static void allocated(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low, gasnet_handlerarg_t object_high,
                      gasnet_handlerarg_t object_low) {
  question_t *q = (question_t *)POINTER(high, low);
  (void)token;
  q->object = POINTER(object_high, object_low);
  answer(q);
}
static void *new_object(gasnet_node_t node, const void *image, size_t bytes) {
  question_t q;
  ask(&q);
  OK(gasnet_AMRequestMedium2(node, ALLOCATE, (void *)(uintptr_t)image, bytes, HIGH(&q), LOW(&q)));
  await(&q);
  return q.object;
}

/* ---- monitors: who finds one taken comes again ---- */

#define MONITORS 4
static struct {
  gasnet_hsl_t lock;
  int taken, owner, entries;
} monitors[MONITORS];

/* Threads of a node are told apart by a number that no two of the job share. */
static void enter_request(gasnet_token_t token, gasnet_handlerarg_t which, gasnet_handlerarg_t who, gasnet_handlerarg_t high,
                          gasnet_handlerarg_t low) {
  int granted;
  gasnet_hsl_lock(&monitors[which].lock);
  granted = !monitors[which].taken || monitors[which].owner == who;
  if (granted) {
    monitors[which].taken = 1;
    monitors[which].owner = who;
    monitors[which].entries++;
  }
  gasnet_hsl_unlock(&monitors[which].lock);
  OK(gasnet_AMReplyShort3(token, ENTERED, high, low, granted));
}
static void entered(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low, gasnet_handlerarg_t granted) {
  question_t *q = (question_t *)POINTER(high, low);
  (void)token;
  q->granted = granted;
  answer(q);
}
static void leave_request(gasnet_token_t token, gasnet_handlerarg_t which, gasnet_handlerarg_t who, gasnet_handlerarg_t high,
                          gasnet_handlerarg_t low) {
  gasnet_hsl_lock(&monitors[which].lock);
  CHECK(monitors[which].taken && monitors[which].owner == who);
  if (--monitors[which].entries == 0) monitors[which].taken = 0;
  gasnet_hsl_unlock(&monitors[which].lock);
  OK(gasnet_AMReplyShort2(token, LEFT, high, low));
}
static void left(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  (void)token;
  answer((question_t *)POINTER(high, low));
}
static void monitor_enter(gasnet_node_t node, int which, int who) {
  question_t q;
  do {
    ask(&q);
    OK(gasnet_AMRequestShort4(node, ENTER, which, who, HIGH(&q), LOW(&q)));
    await(&q);
    if (!q.granted) gasnett_sched_yield();
  } while (!q.granted);
}
static void monitor_leave(gasnet_node_t node, int which, int who) {
  question_t q;
  ask(&q);
  OK(gasnet_AMRequestShort4(node, LEAVE, which, who, HIGH(&q), LOW(&q)));
  await(&q);
}

#define ROUNDS 25

/* Adds to a counter of node 0 inside its monitor, entered twice: monitors may be. */
static void *work(void *number) {
  const int who = (int)(gasnet_mynode() * THREADS) + (int)(uintptr_t)number;
  uint64_t *counter = (uint64_t *)(void *)(segments[0] + REGION_BYTES);
  int i;
  for (i = 0; i < ROUNDS; i++) {
    monitor_enter(0, 1, who);
    monitor_enter(0, 1, who);
    gasnet_put_val(0, counter, gasnet_get_val(0, counter, sizeof(*counter)) + 1, sizeof(*counter));
    monitor_leave(0, 1, who);
    monitor_leave(0, 1, who);
  }
  return NULL;
}

/* ---- arrays: in one piece, element by element in an access region, packed by the node that has them ---- */

#define ELEMENTS 2000
static uint64_t *array_of(gasnet_node_t node) { return (uint64_t *)(void *)(segments[node] + REGION_BYTES + 64); }
static uint64_t element(gasnet_node_t node, unsigned i) { return (uint64_t)node << 32 | (i * 2654435761u >> 3); }

/* The elements at these places, as far as a message goes. */
static void pack(gasnet_token_t token, void *places, size_t bytes, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  uint64_t packed[512 / 8];
  const uint32_t *place = (const uint32_t *)places;
  size_t i, count = bytes / sizeof(*place);
  for (i = 0; i < count; i++) packed[i] = array_of(gasnet_mynode())[place[i]];
  OK(gasnet_AMReplyMedium2(token, PACKED, packed, count * sizeof(*packed), high, low));
}
static void packed_came(gasnet_token_t token, void *packed, size_t bytes, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  question_t *q = (question_t *)POINTER(high, low);
  (void)token;
  memcpy(q->into, packed, bytes);
  q->bytes = bytes;
  answer(q);
}

static void arrays(gasnet_node_t peer) {
  static uint64_t whole[ELEMENTS], some[ELEMENTS / 7 + 1], back[ELEMENTS];
  uint32_t places[512 / 8];
  gasnet_handle_t region;
  question_t q;
  unsigned i, n;

  gasnet_get_bulk(whole, peer, array_of(peer), sizeof(whole));
  for (i = 0; i < ELEMENTS; i++) CHECK(whole[i] == element(peer, i));

  /* Gathered: every seventh element. */
  gasnet_begin_nbi_accessregion();
  for (n = 0, i = 0; i < ELEMENTS; i += 7) gasnet_get_nbi(&some[n++], peer, &array_of(peer)[i], sizeof(*some));
  region = gasnet_end_nbi_accessregion();
  gasnet_wait_syncnb(region);
  for (i = 0; i < n; i++) CHECK(some[i] == element(peer, i * 7));

  /* Packed: the same elements in the other order. */
  for (i = 0; i < 512 / 8; i++) places[i] = (n - 1 - i) * 7;
  ask(&q);
  q.into = (char *)back;
  OK(gasnet_AMRequestMedium2(peer, PACK, places, sizeof(places), HIGH(&q), LOW(&q)));
  await(&q);
  CHECK_EQUAL(q.bytes, sizeof(places) * 2);
  for (i = 0; i < 512 / 8; i++) CHECK(back[i] == element(peer, places[i]));

  /* Scattered: into the second half of the neighbour's memory, and looked at there after a barrier. */
  gasnet_begin_nbi_accessregion();
  for (i = 0; i < ELEMENTS; i += 3) gasnet_put_nbi(peer, &array_of(peer)[ELEMENTS + i], &whole[i], sizeof(*whole));
  region = gasnet_end_nbi_accessregion();
  while (gasnet_try_syncnb(region) != GASNET_OK) {}
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {
      {ALLOCATE, (void (*)())allocate},   {ALLOCATED, (void (*)())allocated}, {ENTER, (void (*)())enter_request},
      {ENTERED, (void (*)())entered},     {LEAVE, (void (*)())leave_request}, {LEFT, (void (*)())left},
      {PACK, (void (*)())pack},           {PACKED, (void (*)())packed_came},
  };
  uint64_t object[OBJECT_WORDS], copy[OBJECT_WORDS];
  gasnet_node_t peer, node;
  unsigned i, step;
  char *made[6];

  start(&argc, &argv, handlers, (int)(sizeof(handlers) / sizeof(*handlers)));
  peer = right_neighbour();
  segments = (char **)calloc(gasnet_nodes(), sizeof(*segments));
  for (node = 0; node < gasnet_nodes(); node++) segments[node] = segment_of(node);
  for (i = 0; i < MONITORS; i++) gasnet_hsl_init(&monitors[i].lock);
  for (i = 0; i < ELEMENTS; i++) array_of(gasnet_mynode())[i] = element(gasnet_mynode(), i);
  *(uint64_t *)(void *)(segments[gasnet_mynode()] + REGION_BYTES) = 0;
  barrier();

  /* Objects of two nodes in one region: each is where it was said to be, and no two are in one place. */
  for (step = 0; step < 6; step++) {
    for (i = 0; i < OBJECT_WORDS; i++) object[i] = element(gasnet_mynode(), step * 100 + i);
    node = step % 2 ? peer : gasnet_mynode();
    made[step] = (char *)new_object(node, object, sizeof(object));
    CHECK(made[step] != NULL);
  }
  barrier();
  for (step = 0; step < 6; step++) {
    gasnet_get(copy, step % 2 ? peer : gasnet_mynode(), made[step], sizeof(copy));
    for (i = 0; i < OBJECT_WORDS; i++) CHECK(copy[i] == element(gasnet_mynode(), step * 100 + i));
  }

  /* A region that is full says so. */
  {
    char *large = (char *)calloc(1, 8192);
    int count = 0;
    while (new_object(gasnet_mynode(), large, gasnet_AMMaxMedium() < 8192 ? 512 : 8192)) count++;
    CHECK(count > 0);
    free(large);
  }

  /* A barrier in two halves, with a name: the copies go on between them. */
  for (step = 0; step < 20; step++) {
    gasnet_barrier_notify((int)step, 0);
    if (step % 5 == 0) arrays(peer);
    OK(gasnet_barrier_wait((int)step, 0));
  }
  for (i = 0; i < ELEMENTS; i += 3)
    CHECK(array_of(gasnet_mynode())[ELEMENTS + i] == element(gasnet_mynode(), i));
  barrier();

#if GASNET_PAR
  {
    pthread_t threads[THREADS];
    for (i = 1; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0);
    work(NULL);
    for (i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
#else
  work(NULL);
#endif
  barrier();
  CHECK_EQUAL(gasnet_get_val(0, segments[0] + REGION_BYTES, 8), (uint64_t)gasnet_nodes() * THREADS * ROUNDS);

  /* Nodes that are in different places of a program are told. */
  if (gasnet_nodes() > 1) {
    gasnet_barrier_notify((int)gasnet_mynode(), 0);
    CHECK_EQUAL(gasnet_barrier_wait((int)gasnet_mynode(), 0), GASNET_ERR_BARRIER_MISMATCH);
  }
  finish();
}
