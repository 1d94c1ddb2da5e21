// Active messages: every kind, every number of arguments, both directions, payload limits, empty payloads.
// run: 1 2 3 4 8 | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
// std: gnu11 gnu++17
#include <gasnet.h>

#include "check.h"

#define EACH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* parameters, arguments and checks for n arguments; the values are negative and large too */
#define VALUE(i) ((gasnet_handlerarg_t)(0x9E3779B1u * (unsigned)(i)))
#define P1 gasnet_handlerarg_t a1
#define P2 P1, gasnet_handlerarg_t a2
#define P3 P2, gasnet_handlerarg_t a3
#define P4 P3, gasnet_handlerarg_t a4
#define P5 P4, gasnet_handlerarg_t a5
#define P6 P5, gasnet_handlerarg_t a6
#define P7 P6, gasnet_handlerarg_t a7
#define P8 P7, gasnet_handlerarg_t a8
#define P9 P8, gasnet_handlerarg_t a9
#define P10 P9, gasnet_handlerarg_t a10
#define P11 P10, gasnet_handlerarg_t a11
#define P12 P11, gasnet_handlerarg_t a12
#define P13 P12, gasnet_handlerarg_t a13
#define P14 P13, gasnet_handlerarg_t a14
#define P15 P14, gasnet_handlerarg_t a15
#define P16 P15, gasnet_handlerarg_t a16
#define V1 VALUE(1)
#define V2 V1, VALUE(2)
#define V3 V2, VALUE(3)
#define V4 V3, VALUE(4)
#define V5 V4, VALUE(5)
#define V6 V5, VALUE(6)
#define V7 V6, VALUE(7)
#define V8 V7, VALUE(8)
#define V9 V8, VALUE(9)
#define V10 V9, VALUE(10)
#define V11 V10, VALUE(11)
#define V12 V11, VALUE(12)
#define V13 V12, VALUE(13)
#define V14 V13, VALUE(14)
#define V15 V14, VALUE(15)
#define V16 V15, VALUE(16)
#define C1 CHECK_EQUAL(a1, VALUE(1));
#define C2 C1 CHECK_EQUAL(a2, VALUE(2));
#define C3 C2 CHECK_EQUAL(a3, VALUE(3));
#define C4 C3 CHECK_EQUAL(a4, VALUE(4));
#define C5 C4 CHECK_EQUAL(a5, VALUE(5));
#define C6 C5 CHECK_EQUAL(a6, VALUE(6));
#define C7 C6 CHECK_EQUAL(a7, VALUE(7));
#define C8 C7 CHECK_EQUAL(a8, VALUE(8));
#define C9 C8 CHECK_EQUAL(a9, VALUE(9));
#define C10 C9 CHECK_EQUAL(a10, VALUE(10));
#define C11 C10 CHECK_EQUAL(a11, VALUE(11));
#define C12 C11 CHECK_EQUAL(a12, VALUE(12));
#define C13 C12 CHECK_EQUAL(a13, VALUE(13));
#define C14 C13 CHECK_EQUAL(a14, VALUE(14));
#define C15 C14 CHECK_EQUAL(a15, VALUE(15));
#define C16 C15 CHECK_EQUAL(a16, VALUE(16));

static volatile int replies; /* counted by reply handlers */
static char *my_segment, *left_segment;
#define TEXT "the quick brown fox"

/* index of the handlers for n arguments: requests and replies of three kinds */
#define SQ(n) (130 + (n))
#define SP(n) (147 + (n))
#define MQ(n) (164 + (n))
#define MP(n) (181 + (n))
#define LQ(n) (198 + (n))
#define LP(n) (215 + (n))
/* where a long message with n arguments goes */
#define PLACE(n, reply) (4096 + (n) * 128 + (reply) * 64)

static void check_source(gasnet_token_t token, gasnet_node_t expected) {
  gasnet_node_t source = 12345;
  OK(gasnet_AMGetMsgSource(token, &source));
  CHECK_EQUAL(source, expected);
}

static void check_text(const void *buf, size_t n) {
  CHECK_EQUAL(n, sizeof(TEXT));
  CHECK((uintptr_t)buf % 8 == 0);
  CHECK(memcmp(buf, TEXT, sizeof(TEXT)) == 0);
}

#define HANDLERS(n)                                                                            \
  static void sq##n(gasnet_token_t t, P##n) {                                                  \
    C##n check_source(t, left_neighbour());                                                    \
    OK(gasnet_AMReplyShort##n(t, SP(n), V##n));                                                \
  }                                                                                            \
  static void sp##n(gasnet_token_t t, P##n) { C##n check_source(t, right_neighbour()); replies++; } \
  static void mq##n(gasnet_token_t t, void *buf, size_t len, P##n) {                           \
    C##n check_text(buf, len);                                                                 \
    OK(gasnet_AMReplyMedium##n(t, MP(n), buf, len, V##n));                                     \
  }                                                                                            \
  static void mp##n(gasnet_token_t t, void *buf, size_t len, P##n) {                           \
    C##n check_text(buf, len); check_source(t, right_neighbour()); replies++;                  \
  }                                                                                            \
  static void lq##n(gasnet_token_t t, void *buf, size_t len, P##n) {                           \
    C##n check_text(buf, len);                                                                 \
    CHECK((char *)buf == my_segment + PLACE(n, 0));                                            \
    OK(gasnet_AMReplyLong##n(t, LP(n), buf, len, left_segment + PLACE(n, 1), V##n));           \
  }                                                                                            \
  static void lp##n(gasnet_token_t t, void *buf, size_t len, P##n) {                           \
    C##n check_text(buf, len); check_source(t, right_neighbour());                             \
    CHECK((char *)buf == my_segment + PLACE(n, 1)); replies++;                                 \
  }

#ifdef __cplusplus
extern "C" {
#endif
EACH(HANDLERS)
/* no arguments at all, and payloads of any size: the first byte says how they were made */
static volatile size_t last_size;
static void *volatile last_place;
static void sq0(gasnet_token_t t) { OK(gasnet_AMReplyShort0(t, SP(0))); }
static void sp0(gasnet_token_t t) { (void)t; replies++; }
static void mq0(gasnet_token_t t, void *buf, size_t len) { OK(gasnet_AMReplyMedium0(t, MP(0), buf, len)); }
static void mp0(gasnet_token_t t, void *buf, size_t len) {
  size_t i;
  (void)t;
  for (i = 0; i < len; i++)
    if (((unsigned char *)buf)[i] != (unsigned char)(i * 7)) { CHECK(!"medium payload"); break; }
  last_size = len;
  replies++;
}
static void lq0(gasnet_token_t t, void *buf, size_t len) {
  OK(gasnet_AMReplyLong0(t, LP(0), buf, len, left_segment + SEGMENT_BYTES - len));
}
static void lp0(gasnet_token_t t, void *buf, size_t len) {
  (void)t;
  last_size = len;
  last_place = buf;
  replies++;
}
static volatile int silent;
static void quiet(gasnet_token_t t, gasnet_handlerarg_t a) { (void)t; silent += a; }
#ifdef __cplusplus
}
#endif

#define ENTRIES(n) HANDLER(SQ(n), sq##n), HANDLER(SP(n), sp##n), HANDLER(MQ(n), mq##n), \
  HANDLER(MP(n), mp##n), HANDLER(LQ(n), lq##n), HANDLER(LP(n), lp##n),

static void await(int *count) {
  const int expected = ++*count;
  GASNET_BLOCKUNTIL(replies == expected);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { EACH(ENTRIES) ENTRIES(0) HANDLER(255, quiet) };
  gasnet_node_t right;
  int count = 0, i;
  char *right_segment;
  unsigned char *big;
  size_t n, most;

  OK(gasnet_init(&argc, &argv));
  right = right_neighbour();
  OK(gasnet_attach(handlers, sizeof(handlers) / sizeof(*handlers), SEGMENT_BYTES, 0));
  my_segment = segment_of(gasnet_mynode());
  left_segment = segment_of(left_neighbour());
  right_segment = segment_of(right);
  CHECK_EQUAL(gasnet_AMMaxArgs(), 16);
  CHECK(gasnet_AMMaxMedium() >= 65536 - 16);
  CHECK(gasnet_AMMaxLongRequest() >= 512 && gasnet_AMMaxLongReply() >= 512);
  barrier();

#define SEND(n)                                                                                \
  OK(gasnet_AMRequestShort##n(right, SQ(n), V##n)); await(&count);                             \
  OK(gasnet_AMRequestMedium##n(right, MQ(n), TEXT, sizeof(TEXT), V##n)); await(&count);        \
  OK(gasnet_AMRequestLong##n(right, LQ(n), TEXT, sizeof(TEXT), right_segment + PLACE(n, 0), V##n)); \
  await(&count);                                                                               \
  OK(gasnet_AMRequestLongAsync##n(right, LQ(n), TEXT, sizeof(TEXT), right_segment + PLACE(n, 0), V##n)); \
  await(&count);
  EACH(SEND)

  /* the forms that take the number of arguments */
  OK(gasnet_AMRequestShort(right, SQ(3), 3, V3));
  await(&count);
  OK(gasnet_AMRequestMedium(right, MQ(16), TEXT, sizeof(TEXT), 16, V16));
  await(&count);
  OK(gasnet_AMRequestLong(right, LQ(1), TEXT, sizeof(TEXT), right_segment + PLACE(1, 0), 1, V1));
  await(&count);
  OK(gasnet_AMRequestShort(right, SQ(0), 0));
  await(&count);

  /* payloads from nothing to the most */
  most = gasnet_AMMaxMedium();
  big = (unsigned char *)malloc(most);
  for (n = 0; n < most; n++) big[n] = (unsigned char)(n * 7);
  for (n = 0; n <= most; n = n < 70 ? n + 1 : n * 2 - 3) {
    OK(gasnet_AMRequestMedium0(right, MQ(0), big, n));
    await(&count);
    CHECK_EQUAL(last_size, n);
  }
  OK(gasnet_AMRequestMedium0(right, MQ(0), big, most));
  await(&count);
  CHECK_EQUAL(last_size, most);
  OK(gasnet_AMRequestMedium0(right, MQ(0), NULL, 0));
  await(&count);
  CHECK_EQUAL(last_size, 0);
  barrier();
  for (n = 0; n <= 65536 && n <= gasnet_AMMaxLongRequest(); n = n ? n * 4 : 1) {
    OK(gasnet_AMRequestLong0(right, LQ(0), big, n, right_segment));
    await(&count);
    CHECK_EQUAL(last_size, n);
    CHECK((char *)last_place == my_segment + SEGMENT_BYTES - n);
    if (n) CHECK(memcmp(last_place, big, n) == 0);
    barrier();
  }

  /* mistakes in arguments are answered, not obeyed (under the rule checks they end the job) */
  if (!gasnet_getenv("GASNET_CHECK")) {
    CHECK_EQUAL(gasnet_AMRequestShort0(gasnet_nodes(), SQ(0)), GASNET_ERR_BAD_ARG);
    CHECK_EQUAL(gasnet_AMRequestShort0(right, 127), GASNET_ERR_BAD_ARG);
    CHECK_EQUAL(gasnet_AMRequestMedium0(right, MQ(0), big, gasnet_AMMaxMedium() + 1), GASNET_ERR_BAD_ARG);
  }

  /* a flood: more than any queue holds, from everybody to everybody */
  for (i = 0; i < 2000; i++) {
    gasnet_node_t to;
    for (to = 0; to < gasnet_nodes(); to++) OK(gasnet_AMRequestShort1(to, 255, 1));
  }
  GASNET_BLOCKUNTIL(silent == 2000 * (int)gasnet_nodes());
  free(big);
  finish();
}
