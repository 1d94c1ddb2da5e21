// -fsanitize=upc: a strict access through a null pointer.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: a null pointer-to-shared is followed
#include <upc_collective.h>
#include "check.h"
strict shared int *p;
int main(void)
{
  (*p)++;
  PASS();
}
