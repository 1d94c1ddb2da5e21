// -fsanitize=upc: the end of a large object, of another thread, in the middle of a structure.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_large.upc:15)
// expect-stderr: 40 bytes of thread 0's shared memory, the last 30 of them after the end of 1000010 bytes of upc_alloc on thread 0
#include <upc.h>
#include "check.h"
struct line { double x[5]; };
shared [] char *shared large;
int main(void)
{
  if (MYTHREAD == 0) large = upc_alloc(1000010);
  upc_barrier;
  struct line l = ((shared [] struct line *)large)[25000];
  CHECK(l.x[0] == 0);
  PASS();
}
