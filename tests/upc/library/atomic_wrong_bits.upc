// Bitwise operations on floats.
// threads: 1 2
// static: no
// expect-runtime: UPC_OR does not exist
#include <upc_atomic.h>
#include "check.h"
shared int target;
shared double real;
shared [] int *shared pointer;
int main(void)
{
  int a = 1, b = 2, old;
  upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_ADD | UPC_OR, 0);
  upc_atomic_relaxed(d, &old, UPC_ADD, &real, &a, NULL);
  CHECK(a + b + old);
  PASS();
}
