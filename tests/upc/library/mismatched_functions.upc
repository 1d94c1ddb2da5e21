// Different collective functions at a time.
// threads: 2 3
// static: no
// expect-runtime: different collective functions
#include <upc_collective.h>
#include "check.h"
shared char src[16*THREADS], dst[16*THREADS];
int main(void)
{
  if (MYTHREAD == 0)
    upc_all_scatter(dst, src, 4, 0);
  else
    upc_all_broadcast(dst, src, 4, 0);
  PASS();
}
