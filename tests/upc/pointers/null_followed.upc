// A null pointer-to-shared is followed by a plain store, without checks: the thread ends, and says why.
// threads: 1 2 5
// flags: -g
// expect-runtime: a null pointer-to-shared is followed
// expect-stderr: followed, in main (
// expect-stderr: null_followed.upc:12
#include "check.h"
int main(int argc, char **argv)
{
  shared long *q = argc > 100 ? (shared long *)upc_alloc(8) : NULL;
  if (MYTHREAD == THREADS - 1)
    *q = 12345;
  upc_barrier;
  PASS();
}
