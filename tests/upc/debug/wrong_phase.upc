// -fsanitize=upc: a pointer whose phase is larger than the block size.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: phase error: a pointer with phase 5 is used as one with block size 3
#include <upc_collective.h>
#include "check.h"
#include <string.h>
shared [8] int a[8*THREADS];
int main(void)
{
  shared [8] int *p = &a[5];
  shared [3] int *q;
  memcpy(&q, &p, sizeof p);
  q++;
  CHECK(*q == 0);
  PASS();
}
