// -fsanitize=upc: an object that has been freed.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: freed.upc:15)
// expect-stderr: blocks of 100000 bytes of upc_global_alloc or upc_all_alloc, which is freed
#include <upc.h>
#include "check.h"
int main(void)
{
  shared int *p = upc_all_alloc(THREADS, 100000);

  p[MYTHREAD] = 1;
  upc_all_free(p);
  CHECK(p[MYTHREAD] == 1);
  PASS();
}
