// -fsanitize=upc: a null pointer is read through.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: a null pointer-to-shared is followed
#include <upc_collective.h>
#include "check.h"
int main(void)
{
  shared int *p = NULL;
  CHECK(*p == 0);
  PASS();
}
