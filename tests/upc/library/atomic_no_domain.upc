// No domain.
// threads: 1 2
// static: no
// expect-runtime: the domain is null
#include <upc_atomic.h>
#include "check.h"
shared int target;
shared double real;
shared [] int *shared pointer;
int main(void)
{
  int a = 1, b = 2, old;
  upc_atomicdomain_t *d = NULL;
  upc_atomic_relaxed(d, &old, UPC_ADD, &target, &a, NULL);
  CHECK(a + b + old);
  PASS();
}
