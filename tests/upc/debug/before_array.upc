// -fsanitize=upc: an element before the first.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: before_array.upc:15)
// expect-stderr: thread 0 reads 4 bytes of thread 0's shared memory, 4 bytes before the shared variable 'b' (40 bytes there)
#include <upc.h>
#include "check.h"
shared [] int a[16], b[10]; volatile int four = 4;
int main(void)
{
  shared [] int *p = b + 3;

  CHECK(a[0] == 0);
  if (MYTHREAD == 0) p[-four] += 1;
  upc_barrier;
  PASS();
}
