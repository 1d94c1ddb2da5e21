// -fsanitize=upc: upc_memget beyond the end of an object.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_memget.upc:14)
// expect-stderr: reads 81 bytes of thread 0's shared memory, the last 1 of them after the end of the shared variable 'a' (80 bytes there)
#include <upc.h>
#include "check.h"
shared int a[20 * THREADS], b[20 * THREADS];
int main(void)
{
  char buffer[200] = "";
  shared [] char *p = upc_alloc(96), *q = upc_alloc(96);
  if (MYTHREAD == 0) upc_memget(buffer, a, 81);
  CHECK(p[0] + q[0] + b[0] + buffer[0] >= 0);
  upc_barrier;
  PASS();
}
