// Long messages beyond what a frame of a network holds, in both directions, Long and LongAsync; the runtime's own handlers are refused.
// mode: seq par
// run: 1 2 | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CONDUIT=udp | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | env GASNET_CHECK=1 | says passed
#include <gasnet.h>

#include "check.h"

#define MOST ((size_t)4 << 20)
#define QUERY 200
#define ANSWER 201

static char *left_segment, *right_segment;
static unsigned char *data;
static volatile int queries, answers;

/* A request has its bytes at 0, its answer the same bytes at MOST. */
static void query(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
  CHECK(a == -7 && b == (gasnet_handlerarg_t)n);
  CHECK((char *)buf == segment_of(gasnet_mynode()));
  CHECK(memcmp(buf, data, n) == 0);
  queries++;
  OK(gasnet_AMReplyLong2(token, ANSWER, buf, n, left_segment + MOST, 7, b));
}

static void answer(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
  (void)token;
  CHECK(a == 7 && b == (gasnet_handlerarg_t)n);
  CHECK((char *)buf == segment_of(gasnet_mynode()) + MOST);
  CHECK(memcmp(buf, data, n) == 0);
  answers++;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { HANDLER(QUERY, query), HANDLER(ANSWER, answer) };
  const size_t sizes[] = { 65536, 65537, 1000000, MOST - 1, MOST };
  unsigned char *source;
  size_t i, k;
  OK(gasnet_init(&argc, &argv));
  OK(gasnet_attach(handlers, 2, 2 * MOST, 0));
  left_segment = segment_of(left_neighbour());
  right_segment = segment_of(right_neighbour());
  CHECK(gasnet_AMMaxLongRequest() >= MOST && gasnet_AMMaxLongReply() >= MOST);
  data = (unsigned char *)malloc(MOST);
  source = (unsigned char *)malloc(MOST);
  for (i = 0; i < MOST; i++) data[i] = (unsigned char)(i * 31 + (i >> 13));
  barrier();
  for (k = 0; k < 2 * sizeof(sizes) / sizeof(*sizes); k++) {
    const size_t n = sizes[k / 2];
    memcpy(source, data, n);
    if (k % 2) {
      OK(gasnet_AMRequestLong2(right_neighbour(), QUERY, source, n, right_segment, -7, (gasnet_handlerarg_t)n));
      memset(source, 0, n); /* it may be reused at once */
      GASNET_BLOCKUNTIL(answers == (int)k + 1);
    } else {
      OK(gasnet_AMRequestLongAsync2(right_neighbour(), QUERY, source, n, right_segment, -7, (gasnet_handlerarg_t)n));
      GASNET_BLOCKUNTIL(answers == (int)k + 1); /* it may be reused when the answer has come */
    }
  }
  barrier();
  CHECK_EQUAL(queries, 2 * sizeof(sizes) / sizeof(*sizes));
  if (!gasnet_getenv("GASNET_CHECK")) {
    for (i = 0; i < 128; i++) {
      CHECK_EQUAL(gasnet_AMRequestShort1(right_neighbour(), (gasnet_handler_t)i, 0), GASNET_ERR_BAD_ARG);
      CHECK_EQUAL(gasnet_AMRequestMedium3(right_neighbour(), (gasnet_handler_t)i, data, 8, 0, 0, 0), GASNET_ERR_BAD_ARG);
    }
  }
  free(source);
  free(data);
  finish();
}
