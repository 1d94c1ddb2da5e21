// A thread that a signal ends names the line and prints a backtrace, if settings ask for it.
// threads: 2
// static: no
// flags: -g
// env: GASNET_BACKTRACE=1
// expect-runtime: thread 0: a null pointer-to-shared is followed, in follow (
// expect-stderr: backtrace_of_fault.upc:14
// expect-stderr: Backtrace of thread 0
#include "check.h"
int zero;
__attribute__((noinline)) static void follow(shared long *p)
{
  /* the line in the message */
  *p = 1;
}
int main(void)
{
  shared long *q = zero ? (shared long *)upc_alloc(8) : NULL;
  if (MYTHREAD == 0)
    follow(q);
  upc_barrier;
  PASS();
}
