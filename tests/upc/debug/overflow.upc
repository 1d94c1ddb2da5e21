// -fsanitize=upc: arithmetic that would come back to the object, beyond all addresses.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: overflow.upc:14)
// expect-stderr: by 17592186044416 elements of 4 bytes, beyond all addresses
#include <upc.h>
#include "check.h"
shared int x[THREADS]; volatile long far = 1l << 44;
int main(void)
{
  shared [] int *q = (shared [] int *)&x[MYTHREAD];

  q += far;
  CHECK(*q == 0);
  PASS();
}
