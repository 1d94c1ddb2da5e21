// -fsanitize=upc: a lock is given back that nobody holds; the line is named.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: not_locked.upc:11)
#include <upc_collective.h>
#include "check.h"
int main(void)
{
  upc_lock_t *l = upc_global_lock_alloc();
  upc_unlock(l);
  PASS();
}
