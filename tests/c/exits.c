// Every way to leave: nothing hangs, nothing is left behind, and the code comes out.
// mode: seq par
// run: 1 2 3 8 | args all 3 | status 3 | within 60
// run: 1 2 3 8 | args all 0 | says before | within 60
// run: 1 2 3 | args return 4 | status 4 | within 60
// run: 3 | args return 0 | says before | within 60
// run: 1 3 | args one 5 | status 5 | within 60
// run: 1 3 | args one-spin 6 | status 6 | within 60
// run: 1 3 | args one-return 7 | status 7 | within 60
// run: 1 3 | args one-exit 8 | status 8 | within 60
// run: 1 3 | args early 9 | status 9 | within 60
// run: 1 3 | args early-one 10 | status 10 | within 60
// run: 1 3 | args handler 11 | status 11 | within 60
// run: 3 | args remote-handler 12 | status 12 | within 60
// run: 1 3 | args interrupt 130 | status 130 | within 60
// run: 1 3 | args background 130 | status 130 | within 60
// run: 3 | args client-quit 14 | status 14 | within 60
// run: 3 | args kill 137 | status 137 | within 60 | says SIGKILL
// run: 1 3 | args crash 139 | status 139 | within 60 | says Caught a fatal signal: SIGSEGV(11) on node
// run: 3 | args abort 134 | status 134 | within 60 | says Caught a fatal signal: SIGABRT(6) on node 2/3
// run: 3 | args fatal 134 | status 134 | within 60 | says this is the end of 42
// run: 3 | args child 0 | within 60 | says passed
// run: 3 | args print 0 | within 60 | says all of them
// run: 3 | args code 300 | status 44 | within 60
// run: 3 | args lock 15 | status 15 | within 60
// run: 3 | args thread 16 | status 16 | within 60
// run: 3 | args all 3 | launcher | status 3 | within 60
// run: 3 | args one 5 | env GASNET_NEIGHBORHOOD=off | status 5 | within 60
// run: 2 | args one 5 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | env GASNET_STATS=1 | status 5 | within 60 | says udp: datagrams sent
#include <gasnet.h>

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int code;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;

static void leave(gasnet_token_t token) { (void)token; gasnet_exit(code); }
static void quit(int sig) { (void)sig; gasnet_exit(code); }
static void *leave_from_thread(void *unused) { (void)unused; gasnet_exit(code); return NULL; }

static void spin(void) {
  volatile int forever = 1;
  while (forever) {}
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = { HANDLER(201, leave) };
  const char *how = argc > 1 ? argv[1] : "";
  int chosen;
#define HOW(name) (strcmp(how, (name)) == 0)
  code = argc > 2 ? atoi(argv[2]) : 0;
  signal(SIGINT, SIG_DFL); /* tests started in the background inherit that it is ignored */
  if (HOW("background")) signal(SIGQUIT, SIG_IGN);
  OK(gasnet_init(&argc, &argv));
  chosen = gasnet_mynode() == gasnet_nodes() - 1;
  if (HOW("early")) gasnet_exit(code);
  if (HOW("early-one") && chosen) gasnet_exit(code);
  OK(gasnet_attach(handlers, 1, SEGMENT_BYTES, 0));
  if (HOW("client-quit")) gasnett_reghandler(SIGQUIT, quit);
  barrier();
  printf("before\n");
  if (HOW("all") || HOW("code")) gasnet_exit(code);
  if (HOW("return")) return code;
  if (HOW("one") && chosen) gasnet_exit(code);
  if (HOW("one-spin")) { if (chosen) gasnet_exit(code); spin(); }
  if (HOW("one-return") && chosen) return code;
  if (HOW("one-exit") && chosen) exit(code);
  if (HOW("handler")) { gasnet_AMRequestShort0(gasnet_mynode(), 201); spin(); }
  if (HOW("remote-handler") && chosen) gasnet_AMRequestShort0(0, 201);
  if ((HOW("interrupt") || HOW("background") || HOW("client-quit")) && chosen) raise(SIGINT);
  if (HOW("kill") && chosen) raise(SIGKILL);
  if (HOW("crash") && chosen) { int *volatile nowhere = NULL; *nowhere = 1; }
  if (HOW("abort") && chosen) abort();
  if (HOW("fatal") && chosen) gasnett_fatalerror("this is the end of %d", 42);
  if (HOW("lock") && chosen) { gasnet_hsl_lock(&lock); gasnet_exit(code); }
  if (HOW("thread") && chosen) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave_from_thread, NULL);
    pthread_join(thread, NULL);
  }
  if (HOW("child")) {
    /* children that exit in their own ways are no business of the job */
    int status = 1;
    const pid_t pid = fork();
    if (pid == 0) exit(3);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK_EQUAL(system("exit 0"), 0);
    barrier();
    finish();
  }
  if (HOW("print")) {
    /* what was printed before others leave comes out, also without a final flush */
    if (chosen) printf("all of them\n");
    barrier();
    gasnet_exit(code);
  }
  GASNET_BLOCKUNTIL(0);
  return 0;
}
