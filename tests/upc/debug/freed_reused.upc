// -fsanitize=upc: memory of an object that has been freed is not given to the next one at once.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: freed_reused.upc:16)
// expect-stderr: of 96 bytes of upc_alloc on thread 0, which is freed
#include <upc.h>
#include "check.h"
int main(void)
{
  shared [] int *p = upc_alloc(96), *q;

  p[3] = 1;
  upc_free(p);
  q = upc_alloc(96);
  if (MYTHREAD == 0) p[3] = 2;
  CHECK_EQ(q[3], 0);
  upc_barrier;
  PASS();
}
