// A collective function between notify and wait.
// threads: 1 2
// static: no
// expect-runtime: between upc_notify and upc_wait
#include <upc_collective.h>
#include "check.h"
shared char src[4*THREADS], dst[4*THREADS];
int main(void)
{
  upc_notify;
  upc_all_broadcast(dst, src, 4, 0);
  upc_wait;
  PASS();
}
