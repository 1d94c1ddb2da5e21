// A thread that a signal ends prints a backtrace, if settings ask for it.
// threads: 2
// static: no
// flags: -g
// env: GASNET_BACKTRACE=1
// expect-exit: 139
// expect-stderr: Backtrace of thread 1
// expect-stderr: backtrace_of_fault.upc:
// expect: before
#include <stdio.h>
#include "check.h"
static void follow(volatile int *address) { *address = 1; }
int main(void)
{
  if (MYTHREAD == 0) printf("before\n");
  upc_barrier;
  if (MYTHREAD == 1) follow(NULL);
  upc_barrier;
  return 0;
}
