// -fsanitize=upc: a null pointer is written through; the line is named.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: null_write.upc:12)
#include <upc_collective.h>
#include "check.h"
shared [4] int *p;
int main(void)
{

  p[0] = 1;
  PASS();
}
