// Different sizes of one collective allocation.
// threads: 2 3
// static: no
// expect-runtime: upc_all_alloc: the threads call different
#include "check.h"
int main(void)
{
  shared void *p = upc_all_alloc(THREADS, 8 + MYTHREAD % 2);
  CHECK(p);
  PASS();
}
