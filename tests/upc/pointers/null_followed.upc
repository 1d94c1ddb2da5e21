// A null pointer-to-shared is followed by a plain store, without checks: the thread ends, and says why, and
// where, if the threads share memory.
// threads: 1 2 5
// flags: -g
// env: GASNET_NEIGHBORHOOD=8
// expect-runtime: a null pointer-to-shared is followed
// expect-stderr: followed, in main (
// expect-stderr: null_followed.upc:14
#include "check.h"
int main(int argc, char **argv)
{
  shared long *q = argc > 100 ? (shared long *)upc_alloc(8) : NULL;
  if (MYTHREAD == THREADS - 1)
    *q = 12345;
  upc_barrier;
  PASS();
}
