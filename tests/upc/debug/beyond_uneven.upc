// -fsanitize=upc: an element after the last, where other threads have a row more.
// threads: 3
// static: only
// flags: -fsanitize=upc
// expect-runtime: beyond_uneven.upc:14)
// expect-stderr: thread 1 writes 8 bytes of thread 2's shared memory, 0 bytes after the end of the shared variable 'a' (32 bytes there)
#include <upc.h>
#include "check.h"
shared [2] long a[16];
int main(void)
{
  volatile int last = 16;

  if (MYTHREAD == 1) a[last] = 1;
  upc_barrier;
  PASS();
}
