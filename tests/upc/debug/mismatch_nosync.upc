// -fsanitize=upc: arguments of collective functions are compared although no flag asks for a barrier.
// threads: 2 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: upc_all_broadcast: the threads call different
#include <upc_collective.h>
#include "check.h"
shared [8] char dst[8*THREADS], src[8*THREADS];
int main(void)
{
  upc_all_broadcast(dst, src, 4 + MYTHREAD % 2, UPC_IN_NOSYNC | UPC_OUT_NOSYNC);
  PASS();
}
