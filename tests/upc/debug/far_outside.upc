// A pointer-to-shared far behind shared memory is followed: named without -fsanitize=upc too.
// threads: 1 2
// static: no
// env: UPC_SHARED_HEAP_SIZE=16
// expect-runtime: thread 0: a pointer-to-shared outside shared memory is followed: offset 0x100001000 of thread 0
#include <upc_relaxed.h>
#include "check.h"
shared [] int x; volatile long far = 1l << 30;
int main(void)
{
  shared [] int *p = &x;
  p += far;
  if (MYTHREAD == 0) CHECK(*p == 0);
  upc_barrier;
  PASS();
}
