// -fsanitize=upc: a pointer far outside of shared memory.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// env: UPC_SHARED_HEAP_SIZE=64
// expect-runtime: outside shared memory
#include <upc_collective.h>
#include "check.h"
shared [] int *p;
shared int x;
int main(void)
{
  p = (shared [] int *)&x;
  p += 1l << 30;
  CHECK(*p == 0);
  PASS();
}
