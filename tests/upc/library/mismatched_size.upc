// Different sizes of one broadcast.
// threads: 2 5
// static: no
// expect-runtime: different arguments
#include <upc_collective.h>
#include "check.h"
shared [] char *src;
shared [8] char dst[8*THREADS];
int main(void)
{
  upc_all_broadcast(dst, dst, 4 + (MYTHREAD == 1), UPC_IN_ALLSYNC | UPC_OUT_NOSYNC);
  PASS();
}
