// An operation that floats do not have.
// threads: 1 3
// static: no
// expect-runtime: no such operation
#include <upc_collective.h>
#include "check.h"
shared double src[THREADS], dst;
int main(void)
{
  upc_all_reduceD(&dst, src, UPC_XOR, THREADS, 1, NULL, 0);
  PASS();
}
