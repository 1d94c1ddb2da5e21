// -fsanitize=upc: an index past an array, where another one is.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_array.upc:14)
// expect-stderr: thread 0 reads 4 bytes of thread 0's shared memory, 64 bytes after the end of the shared variable 'a' (64 bytes there)
#include <upc.h>
#include "check.h"
shared int a[16 * THREADS], b[64 * THREADS];
int main(void)
{
  int far = 32 * THREADS;

  CHECK(MYTHREAD || a[far] + b[0] == 0);
  upc_barrier;
  PASS();
}
