// The same where threads share no memory.
// threads: 2 3
// static: no
// env: GASNET_NEIGHBORHOOD=off
// expect-runtime: a null pointer-to-shared is followed
#include "check.h"
int main(int argc, char **argv)
{
  shared long *q = argc > 100 ? (shared long *)upc_alloc(8) : NULL;
  if (MYTHREAD == THREADS - 1)
    CHECK(*q != 1);
  upc_barrier;
  PASS();
}
