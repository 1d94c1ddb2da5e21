// Every declaration, in every language standard, with both compilers, without a warning.
// compiler: gcc clang
// std: c99 gnu11 c17 c++98 c++11 gnu++20
// run: 2 | says passed
#include <gasnet.h>
#include <gasnet_tools.h>
#include <gasnet_vis.h>
#include <gasnet_coll.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif
static volatile int pings, pongs;
static void ping(gasnet_token_t token, gasnet_handlerarg_t a) {
  pings = pings + 1;
  OK(gasnet_AMReplyShort1(token, 202, a + 1));
}
static void pong(gasnet_token_t token, gasnet_handlerarg_t a) {
  gasnet_node_t source;
  OK(gasnet_AMGetMsgSource(token, &source));
  CHECK_EQUAL(source, right_neighbour());
  pongs = a;
}
#ifdef __cplusplus
}
#endif

GASNETT_THREADKEY_DEFINE(key);
static gasnett_atomic_t counter = gasnett_atomic_init(0);
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
GASNETT_IDENT(ident, "$Test: languages $");

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { HANDLER(201, ping), HANDLER(202, pong) };
  gasnet_handle_t handle;
  gasnet_threadinfo_t info;
  int value = 7;
  start(&argc, &argv, handlers, 2);
  {
    GASNET_BEGIN_FUNCTION();
    info = GASNET_GET_THREADINFO();
    GASNET_POST_THREADINFO(info);
  }
  OK(gasnet_AMRequestShort1(right_neighbour(), 201, 5));
  GASNET_BLOCKUNTIL(pongs == 6);
  GASNET_BLOCKUNTIL(pings == 1);
  gasnet_put(right_neighbour(), segment_of(right_neighbour()), &value, sizeof(value));
  handle = gasnet_put_nb_bulk(right_neighbour(), segment_of(right_neighbour()), &value, sizeof(value));
  gasnet_wait_syncnb(handle);
  CHECK_EQUAL(gasnet_get_val(right_neighbour(), segment_of(right_neighbour()), sizeof(value)), 7);
  gasnet_hsl_lock(&lock);
  gasnett_atomic_increment(&counter, GASNETT_ATOMIC_REL);
  gasnet_hsl_unlock(&lock);
  CHECK_EQUAL(gasnett_atomic_read(&counter, 0), 1);
  gasnett_threadkey_set(key, &value);
  CHECK(gasnett_threadkey_get(key) == &value);
  CHECK(gasnett_ticks_now() > GASNETT_TICK_MIN);
  CHECK(strcmp(gasnet_ErrorName(GASNET_ERR_NOT_READY), "GASNET_ERR_NOT_READY") == 0);
  CHECK(strstr(GASNET_CONFIG_STRING, "CONDUIT=SMP") != NULL);
  CHECK(gasnett_performance_warning_str()[0] == 0);
  GASNETT_TRACE_PRINTF("%d", 1);
#if !GASNET_SEQ && !GASNET_PAR && !GASNET_PARSYNC
  #error no thread mode
#endif
  finish();
  return 0;
}
