// A domain of a type that has no atomic operations.
// threads: 1 2
// static: no
// expect-runtime: no atomic operations on type
#include <upc_atomic.h>
#include "check.h"
shared int target;
shared double real;
shared [] int *shared pointer;
int main(void)
{
  int a = 1, b = 2, old;
  upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_CHAR, UPC_ADD, 0);
  upc_atomic_relaxed(d, &old, UPC_ADD, &target, &a, NULL);
  CHECK(a + b + old);
  PASS();
}
