// -fsanitize=upc: a pointer to a thread that does not exist.
// threads: 1 3
// static: no
// flags: -fsanitize=upc
// expect-runtime: a pointer-to-shared to thread 77 is followed
#include <upc_collective.h>
#include "check.h"
#include <string.h>
shared int x;
int main(void)
{
  shared [] int *p = (shared [] int *)&x;
  unsigned long word;
  memcpy(&word, &p, 8);
  word |= 77ul << 34;
  memcpy(&p, &word, 8);
  CHECK(*p == 0);
  PASS();
}
