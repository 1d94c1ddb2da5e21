// -fsanitize=upc: a copy from a null pointer.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: null_copy.upc:12)
#include <upc_collective.h>
#include "check.h"
int main(void)
{
  char buffer[10];

  upc_memget(buffer, NULL, 10);
  PASS();
}
