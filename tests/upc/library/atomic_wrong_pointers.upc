// Arithmetic on pointers-to-shared.
// threads: 1 2
// static: no
// expect-runtime: UPC_ADD does not exist
#include <upc_atomic.h>
#include "check.h"
shared int target;
shared double real;
shared [] int *shared pointer;
int main(void)
{
  int a = 1, b = 2, old;
  upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_PTS, UPC_ADD | UPC_GET, 0);
  upc_atomic_relaxed(d, &old, UPC_ADD, &pointer, &a, NULL);
  CHECK(a + b + old);
  PASS();
}
