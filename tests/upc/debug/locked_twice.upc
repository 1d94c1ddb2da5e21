// -fsanitize=upc: a lock is taken twice; the line is named.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: locked_twice.upc:14)
#include <upc_collective.h>
#include "check.h"
int main(void)
{
  upc_lock_t *l = upc_global_lock_alloc();
  upc_lock(l);


  upc_lock(l);
  PASS();
}
