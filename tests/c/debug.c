// Debug mode: programs that are compiled with GASNET_DEBUG are checked, unless the environment says otherwise.
// compiler: gcc clang
// flags: -DGASNET_DEBUG
// std: gnu11 c++11
// run: 2 | says passed
// run: 2 | args in-handler | status 134 | says gasnet_AMPoll was called from active-message handler 201
// run: 2 | args in-handler | env GASNET_CHECK=0 | says passed
#include <gasnet.h>
#include <gasnet_tools.h>

#include "check.h"

#if !GASNET_DEBUG || defined(GASNET_NDEBUG)
  #error not compiled for debugging
#endif

static volatile int arrived;
static int polls;

static void handler(gasnet_token_t token) {
  (void)token;
  if (polls) (void)gasnet_AMPoll();
  arrived = 1;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {HANDLER(201, handler)};
  polls = argc > 1;
  start(&argc, &argv, handlers, 1);
  CHECK(strstr(GASNET_CONFIG_STRING, ",debug,") != NULL && strstr(GASNETT_CONFIG_STRING, ",debug,") != NULL);
  barrier();
  OK(gasnet_AMRequestShort0(right_neighbour(), 201));
  GASNET_BLOCKUNTIL(arrived);
  barrier();
  finish();
  return 0;
}
