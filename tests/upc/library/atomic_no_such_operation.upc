// Two operations in one call.
// threads: 1 2
// static: no
// expect-runtime: is not an operation
#include <upc_atomic.h>
#include "check.h"
shared int target;
shared double real;
shared [] int *shared pointer;
int main(void)
{
  int a = 1, b = 2, old;
  upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_INT, UPC_ADD | UPC_GET | UPC_SET | UPC_CSWAP | UPC_AND, 0);
  upc_atomic_relaxed(d, &old, UPC_ADD | UPC_AND, &target, &a, NULL);
  CHECK(a + b + old);
  PASS();
}
