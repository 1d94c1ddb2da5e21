// Ranks that all leave with 0, one of them later than the others: it is not disturbed, and counts.
// mode: seq par
// run: 2 3 | args late | within 60 | says last of all | never SIGTERM
// run: 3 | args late | launcher | within 60 | says last of all | never SIGTERM
// run: 2 3 | args crash | status 139 | within 60 | says Caught a fatal signal: SIGSEGV(11) on node 0
// run: 2 | args code | status 7 | within 60
// run: 3 | args alone | within 60 | never SIGTERM
#include <gasnet.h>

#include "check.h"

#include <signal.h>
#include <unistd.h>

static int crashes;
static void in_the_end(void) { if (crashes) raise(SIGSEGV); }
static void unexpected(int sig) { (void)sig; if (write(2, "SIGTERM\n", 8) != 8) _exit(9); }

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
#define HOW(name) (strcmp(how, (name)) == 0)
  start(&argc, &argv, NULL, 0);
  atexit(in_the_end);
  signal(SIGTERM, unexpected);
  barrier();
  if (HOW("alone")) {
    /* nobody else comes: they are ended after a while */
    if (gasnet_mynode() == 0) gasnet_exit(0);
    GASNET_BLOCKUNTIL(0);
  }
  if (gasnet_mynode() == 0) {
    usleep(300000);
    crashes = HOW("crash");
    if (HOW("code")) return 7;
    printf("last of all\n");
  }
  return 0;
}
