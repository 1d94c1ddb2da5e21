// -fsanitize=upc: an array too small for the blocks of a collective function.
// threads: 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_exchange.upc:13)
// expect-stderr: the last 16 of them after the end of the shared variable 'dst'
#include <upc_collective.h>
#include "check.h"
shared [4] long dst[4 * THREADS];
shared [6] long src[6 * THREADS];
int main(void)
{
  upc_all_exchange(dst, src, 3 * sizeof(long), 0);
  PASS();
}
