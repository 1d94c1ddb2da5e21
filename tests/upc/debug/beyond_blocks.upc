// -fsanitize=upc: a pointer that has left an object of all threads, and is followed later.
// threads: 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_blocks.upc:15)
// expect-stderr: thread 1 reads 4 bytes of thread 1's shared memory, 0 bytes after the end of 4 blocks of 20 bytes of upc_global_alloc or upc_all_alloc (20 bytes there)
#include <upc.h>
#include "check.h"
int main(void)
{
  shared [5] int *p = upc_all_alloc(4, 5 * sizeof(int));
  int sum = 0;

  if (MYTHREAD == 1)
    for (int i = 0; i <= 20; i++, p++) sum += *p;
  CHECK(sum >= 0);
  PASS();
}
