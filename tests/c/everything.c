// GASNET_SEGMENT_EVERYTHING: all of a program's memory is reachable, directly or through messages.
// flags: -DGASNET_SEGMENT_EVERYTHING
// run: 1 2 3 4 | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
#include <gasnet.h>

#include "check.h"

#ifndef GASNET_SEGMENT_EVERYTHING
  #error wrong segment mode
#endif
#define BYTES 200000
#define LONGEST 150000

static unsigned char initialised[BYTES] = { 1 }, common[BYTES];
static struct { void *data, *bss, *heap, *stack; } theirs, ours;
static volatile int known, long_arrived;
static void *volatile long_place;

static void where(gasnet_token_t token) { OK(gasnet_AMReplyMedium0(token, 202, &ours, sizeof(ours))); }
static void here(gasnet_token_t token, void *buf, size_t n) {
  (void)token;
  CHECK_EQUAL(n, sizeof(theirs));
  memcpy(&theirs, buf, n);
  known = 1;
}
static void arrived(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t a) {
  (void)token;
  CHECK_EQUAL(n, (size_t)a);
  long_place = buf;
  long_arrived++;
}

static void visit(unsigned char *there, unsigned seed) {
  const gasnet_node_t peer = right_neighbour();
  unsigned char *out = (unsigned char *)malloc(BYTES), *in = (unsigned char *)malloc(BYTES);
  gasnet_handle_t handle;
  size_t i;
  for (i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 3 + seed);
  gasnet_put(peer, there, out, BYTES);
  gasnet_get(in, peer, there, BYTES);
  CHECK(memcmp(in, out, BYTES) == 0);
  gasnet_memset(peer, there + 1, 9, BYTES - 2);
  handle = gasnet_get_nb_bulk(in, peer, there, BYTES);
  gasnet_wait_syncnb(handle);
  CHECK(in[0] == out[0] && in[1] == 9 && in[BYTES - 2] == 9 && in[BYTES - 1] == out[BYTES - 1]);
  gasnet_begin_nbi_accessregion();
  for (i = 0; i < 100; i++) gasnet_put_nbi_val(peer, there + i * 8, i + seed, 8);
  handle = gasnet_end_nbi_accessregion();
  gasnet_wait_syncnb(handle);
  for (i = 0; i < 100; i++) CHECK_EQUAL(gasnet_get_val(peer, there + i * 8, 8), i + seed);
  gasnet_put_nbi_bulk(peer, there, out, BYTES);
  gasnet_wait_syncnbi_all();
  gasnet_get_nbi(in, peer, there, BYTES);
  gasnet_wait_syncnbi_gets();
  CHECK(memcmp(in, out, BYTES) == 0);
  free(in);
  free(out);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { HANDLER(201, where), HANDLER(202, here), HANDLER(203, arrived) };
  unsigned char stack[BYTES];
  OK(gasnet_init(&argc, &argv));
  CHECK(gasnet_getMaxLocalSegmentSize() == (uintptr_t)-1);
  OK(gasnet_attach(handlers, 3, 0, 0));
  memset(stack, 0, sizeof(stack));
  ours.data = initialised;
  ours.bss = common;
  ours.heap = calloc(1, BYTES);
  ours.stack = stack;
  barrier();
  OK(gasnet_AMRequestShort0(right_neighbour(), 201));
  GASNET_BLOCKUNTIL(known);
  barrier();
  visit((unsigned char *)theirs.data, gasnet_mynode());
  visit((unsigned char *)theirs.bss, gasnet_mynode() + 1);
  visit((unsigned char *)theirs.heap, gasnet_mynode() + 2);
  visit((unsigned char *)theirs.stack, gasnet_mynode() + 3);
  barrier();
  OK(gasnet_AMRequestLong1(right_neighbour(), 203, "long", 5, (char *)theirs.heap + 7, 5));
  GASNET_BLOCKUNTIL(long_arrived == 1);
  CHECK(long_place == (char *)ours.heap + 7 && !strcmp((char *)ours.heap + 7, "long"));
  barrier();
  OK(gasnet_AMRequestLong1(right_neighbour(), 203, NULL, 0, (char *)theirs.heap + 9, 0));
  GASNET_BLOCKUNTIL(long_arrived == 2);
  CHECK(long_place == (char *)ours.heap + 9);
  barrier();
  /* longer than any medium message */
  CHECK(gasnet_AMMaxLongRequest() >= LONGEST);
  memset(stack, 7, LONGEST);
  OK(gasnet_AMRequestLong1(right_neighbour(), 203, stack, LONGEST, (char *)theirs.heap + 1, LONGEST));
  GASNET_BLOCKUNTIL(long_arrived == 3);
  CHECK(long_place == (char *)ours.heap + 1 && ((char *)ours.heap)[1] == 7 && ((char *)ours.heap)[LONGEST] == 7);
  finish();
}
