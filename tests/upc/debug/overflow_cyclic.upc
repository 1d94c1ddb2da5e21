// -fsanitize=upc: the same of a pointer that goes around the threads, and one of 16 bytes.
// threads: 1 3
// static: no
// flags: -fsanitize=upc -fupc-pts=struct
// expect-runtime: overflow_cyclic.upc:12)
#include <upc.h>
#include "check.h"
shared [3] int x[9 * THREADS]; volatile long far = 1l << 60;
int main(void)
{
  shared [3] int *q = &x[4];
  q -= far;
  CHECK(*q == 0);
  PASS();
}
