// A copy of many pieces with more bytes on one side.
// threads: 1 2
// static: no
// expect-runtime: different numbers of bytes
#include "check.h"
shared [] char a[100];
int main(void)
{
  char b[100] = { 0 };
  bupc_memput_fstrided(a, 4, 4, 10, b, 4, 4, 11);
  PASS();
}
