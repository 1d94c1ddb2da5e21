// -fsanitize=upc: an element past an object of the heap, where another object is.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_heap.upc:16)
// expect-stderr: writes 8 bytes of thread 0's shared memory, 40 bytes after the end of 40 bytes of upc_alloc on thread 0
#include <upc.h>
#include "check.h"
shared [] long *shared all[10 * THREADS];
int main(void)
{
  for (int i = 0; i < 10; i++)
    all[MYTHREAD + i * THREADS] = upc_alloc(5 * sizeof(long));
  upc_barrier;
  shared [] long *p = all[0];
  if (MYTHREAD == THREADS - 1) p[10] = 1;
  upc_barrier;
  PASS();
}
