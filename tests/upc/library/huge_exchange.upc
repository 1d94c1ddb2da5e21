// Blocks so large that the number of bytes of all of them wraps.
// threads: 2 5
// static: no
// env: GASNET_NEIGHBORHOOD=off
// expect-runtime: no memory is so large
#include <stdint.h>
#include <upc_collective.h>
#include "check.h"
shared [8] long src[8*THREADS];
shared [8] long dst[8*THREADS];
int main(void)
{
  upc_all_exchange(dst, src, SIZE_MAX / THREADS + 1, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  PASS();
}
