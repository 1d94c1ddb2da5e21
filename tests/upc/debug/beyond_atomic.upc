// -fsanitize=upc: an atomic operation after the end of an array.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_atomic.upc:13)
// expect-stderr: updates 8 bytes of thread 0's shared memory, 0 bytes after the end of the shared variable 'a' (8 bytes there)
#include <upc_atomic.h>
#include "check.h"
shared long a[THREADS];
int main(void)
{
  upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_LONG, UPC_INC, 0);
  upc_atomic_relaxed(d, NULL, UPC_INC, &a[THREADS], NULL, NULL);
  PASS();
}
