// -fsanitize=upc: a private pointer to another thread's memory.
// threads: 2 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: cast_far.upc:12)
// expect-stderr: thread 0 casts a pointer-to-shared with affinity to thread 1, to the shared variable 'a', to a private pointer
#include <upc.h>
#include "check.h"
shared int a[THREADS];
int main(void)
{
  if (MYTHREAD == 0) { int *q = (int *)&a[1]; *q = 2; CHECK(a[1] == 2); }
  upc_barrier;
  PASS();
}
