// Domains of different types at a time.
// threads: 2 3
// static: no
// expect-runtime: upc_all_atomicdomain_alloc: the threads call different
#include <upc_atomic.h>
#include "check.h"
int main(void)
{
  upc_all_atomicdomain_alloc(MYTHREAD ? UPC_INT : UPC_LONG, UPC_ADD, 0);
  PASS();
}
