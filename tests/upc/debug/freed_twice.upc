// -fsanitize=upc: an object that is freed twice, the second time by another thread.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: upc_free: the object at the pointer has been freed before
#include <upc.h>
#include "check.h"
shared [] int *shared p;
int main(void)
{
  if (MYTHREAD == 0) {
    p = upc_global_alloc(THREADS, 400);
    upc_free(p);
  }
  upc_barrier;
  if (MYTHREAD == THREADS - 1) upc_free(p);
  upc_barrier;
  PASS();
}
