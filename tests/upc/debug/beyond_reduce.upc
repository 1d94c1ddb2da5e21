// -fsanitize=upc: a reduction of more elements than the array has.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_reduce.upc:16)
// expect-stderr: the last 16 of them after the end of the shared variable 'a' (48 bytes there)
#include <upc_collective.h>
#include "check.h"
shared [2] long a[6 * THREADS];
shared [2] long b[6 * THREADS];
shared long sum;
int main(void)
{
  upc_all_reduceL(&sum, a, UPC_ADD, 6 * THREADS, 2, NULL, 0);
  upc_all_prefix_reduceL(b, a, UPC_ADD, 6 * THREADS, 2, NULL, 0);
  upc_all_reduceL(&sum, a + 1, UPC_ADD, 8 * THREADS - 1, 2, NULL, 0);
  PASS();
}
