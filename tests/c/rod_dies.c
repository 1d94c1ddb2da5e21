// The example rod_heals, whose ranks are killed at random moments.
// mode: seq
// run: 2 4 | args 400 | launcher --on-death heal | says verification: passed
// run: 3 | args 400 | launcher --on-death shrink | says verification: passed
#include <gasnet.h>
#include <gasnet_survive.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}

/* The first processes of all ranks but one are going to die. */
static int init_and_arm(int *argc, char ***argv) {
  const int code = gasnet_init(argc, argv);
  const unsigned seed = (unsigned)getppid();
  struct itimerval timer = {{0, 0}, {0, 0}};
  if (gasnetx_incarnation() == 0 && gasnet_mynode() != seed % gasnet_nodes()) {
    srand(seed * 64 + gasnet_mynode());
    timer.it_value.tv_usec = 1 + rand() % 200000;
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  return code;
}

#define gasnet_init init_and_arm
#include "../../examples/c/rod_heals.c"
