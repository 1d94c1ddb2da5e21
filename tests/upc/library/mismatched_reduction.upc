// Different operations of one reduction; checked at the exit where there is no entry.
// threads: 2 3
// static: no
// expect-runtime: upc_all_reduceI: the threads call different
#include <upc_collective.h>
#include "check.h"
shared int src[THREADS], dst;
int main(void)
{
  upc_all_reduceI(&dst, src, MYTHREAD ? UPC_ADD : UPC_MAX, THREADS, 1, NULL, UPC_IN_NOSYNC | UPC_OUT_ALLSYNC);
  PASS();
}
