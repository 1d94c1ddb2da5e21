// An array of more elements than there are addresses.
// threads: 1 3
// static: no
// expect-runtime: no memory is so large
#include <stdint.h>
#include <upc_collective.h>
#include "check.h"
shared [8] long src[8*THREADS];
shared long dst;
int main(void)
{
  upc_all_reduceL(&dst, src, UPC_ADD, SIZE_MAX - 3, 8, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  PASS();
}
