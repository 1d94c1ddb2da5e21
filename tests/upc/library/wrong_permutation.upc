// A permutation to a thread that does not exist.
// threads: 2
// static: no
// expect-runtime: which is not a thread
#include <upc_collective.h>
#include "check.h"
shared int perm[THREADS];
shared char src[4*THREADS], dst[4*THREADS];
int main(void)
{
  perm[MYTHREAD] = 7;
  upc_barrier;
  upc_all_permute(dst, src, perm, 4, 0);
  PASS();
}
