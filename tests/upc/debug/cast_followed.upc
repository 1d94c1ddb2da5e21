// A private pointer made from another thread's pointer-to-shared is followed, where memory is not shared.
// threads: 2
// static: no
// env: GASNET_CONDUIT=smp
// env: GASNET_NEIGHBORHOOD=off
// expect-runtime: thread 0: a private pointer to memory of thread 1 is followed, which is out of reach
#include <upc.h>
#include "check.h"
shared int a[THREADS];
int main(void)
{
  if (MYTHREAD == 0) { int *q = (int *)&a[1]; *q = 2; CHECK(a[1] == 2); }
  upc_barrier;
  PASS();
}
