// -fsanitize=upc: upc_memcpy beyond the end of an object.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_memcpy.upc:14)
// expect-stderr: copies to 100 bytes of thread 0's shared memory, the last 4 of them after the end of 96 bytes of upc_alloc on thread 0
#include <upc.h>
#include "check.h"
shared int a[20 * THREADS], b[20 * THREADS];
int main(void)
{
  char buffer[200] = "";
  shared [] char *p = upc_alloc(96), *q = upc_alloc(96);
  if (MYTHREAD == 0) upc_memcpy(p, a, 100);
  CHECK(p[0] + q[0] + b[0] + buffer[0] >= 0);
  upc_barrier;
  PASS();
}
