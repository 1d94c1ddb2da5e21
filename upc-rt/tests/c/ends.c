/* Ways to end, chosen by the first argument; for wrong programs, the runtime's message. */
#include "program.h"
#include <sys/wait.h>

SHARED(flag, 8);

static void at_exit(void)
{
  /* shared data is still there */
  write_long(0, flag.offset, 7);
  printf("thread %d: atexit\n", ME);
}

static int user_main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  int last = ME == THREADS - 1;
  if (!strcmp(what, "serve")) {
    /* thread 0 ends at once; the others use its memory long after */
    printf("thread %d: no newline", ME);
    if (ME == 0) { write_long(0, flag.offset, 5); return 0; }
    usleep(200000);
    CHECK(THREADS == 1 || read_long(0, flag.offset) == 5);
    __upc_free(0, __upc_alloc_global(THREADS, 100000, 0), 0);
    return 0;
  }
  if (!strcmp(what, "exit")) { atexit(at_exit); if (last) exit(3); return 0; }
  if (!strcmp(what, "fork")) {
    pid_t p = fork();
    if (p == 0) exit(0);
    int st; waitpid(p, &st, 0);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 0);
    CHECK(system("exit 4") >> 8 == 4);
    __upc_barrier(0, 0);
    printf("thread %d: forked\n", ME);
    return 0;
  }
  if (!strcmp(what, "global")) {
    printf("thread %d: before\n", ME);
    __upc_barrier(0, 0);
    if (last) { printf("thread %d: partial", ME); __upc_global_exit(5); }
    for (;;) __upc_poll();
  }
  if (!strcmp(what, "global-spin")) {
    printf("thread %d: before\n", ME);
    __upc_barrier(0, 0);
    if (last) __upc_global_exit(6);
    for (;;) ;
  }
  if (!strcmp(what, "abort")) { if (last) abort(); for (;;) __upc_poll(); }
  if (!strcmp(what, "notify2")) { __upc_notify(0, 0); __upc_notify(0, 0); }
  if (!strcmp(what, "wait")) { __upc_wait(0, 0); }
  if (!strcmp(what, "barrier-inside")) { __upc_notify(0, 0); __upc_barrier(0, 0); }
  if (!strcmp(what, "alloc-inside")) { __upc_notify(0, 0); __upc_alloc_global(1, 1, 1); }
  if (!strcmp(what, "mismatch")) { __upc_barrier(ME, 1); printf("thread %d: went on\n", ME); return 0; }
  if (!strcmp(what, "wait-mismatch")) { __upc_notify(3, ME == 0); __upc_wait(last ? 4 : 3, 1); return 0; }
  if (!strcmp(what, "agree")) {
    /* names of some, of all, of waits only */
    for (int i = 0; i < 500; i++) {
      __upc_notify(i, (i + ME) % 3 == 0); __upc_wait(i, (i + ME) % 2);
      __upc_notify(0, 0); __upc_wait(ME, 1);
      __upc_barrier(-i, ME % 2);
    }
    if (ME == 0) printf("agreed\n");
    return 0;
  }
  if (!strcmp(what, "left-alone")) { if (!last) __upc_barrier(0, 0); return 0; }
  if (!strcmp(what, "oom")) { for (;;) memset(__upc_mine(__upc_alloc_local(64 << 20)), 1, 100); }
  if (!strcmp(what, "oom-global")) { for (;;) __upc_alloc_global(THREADS * 16, 1 << 20, 0); }
  if (!strcmp(what, "oom-huge")) { __upc_alloc_global(1ul << 40, 1ul << 40, 0); }
  if (!strcmp(what, "free2")) { unsigned long o = __upc_alloc_local(100); __upc_free(ME, o, 0); __upc_free(ME, o, 0); }
  if (!strcmp(what, "free-static")) { __upc_free(0, flag.offset, 0); }
  if (!strcmp(what, "free-inside")) { __upc_free(ME, __upc_alloc_local(100000) + 16, 0); }
  if (!strcmp(what, "free-wild")) { __upc_free(77777, 1ul << 50, 0); }
  if (!strcmp(what, "relock")) { unsigned t; unsigned long o = __upc_lock_alloc(0, &t); __upc_lock(t, o); __upc_lock(t, o); }
  if (!strcmp(what, "unlock")) { unsigned t; unsigned long o = __upc_lock_alloc(0, &t); __upc_unlock(t, o); }
  if (!strcmp(what, "unlock-other")) {
    unsigned t; unsigned long o = __upc_lock_alloc(1, &t);
    if (ME == 0) __upc_lock(t, o);
    __upc_barrier(0, 0);
    if (ME) __upc_unlock(t, o);
    __upc_barrier(0, 0);
  }
  if (!strcmp(what, "lock-null")) { __upc_lock(0, 0); }
  if (!strcmp(what, "lock-freed")) { unsigned t; unsigned long o = __upc_lock_alloc(0, &t); __upc_lock_free(t, o, 0); __upc_lock(t, o); }
  if (!strcmp(what, "outside")) { write_long(ME, (1ul << 34) - 4, 1); }
  return 0;
}
