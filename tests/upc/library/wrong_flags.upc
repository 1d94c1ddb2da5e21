// Two flags of one kind.
// threads: 1 2
// static: no
// expect-runtime: is not a combination
#include <upc_collective.h>
#include "check.h"
shared char src[16*THREADS], dst[16*THREADS];
int main(void)
{
  upc_all_gather_all(dst, src, 1, UPC_IN_ALLSYNC | UPC_IN_NOSYNC);
  PASS();
}
