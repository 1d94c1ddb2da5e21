// A C main that starts the threads itself and calls UPC functions; bupc_extern.h, and bupc_tentative.h filled in by the runtime.
// files: _c_main.trans.c
// flags: -extern-main
// args: one two
#include <upc.h>

shared int cells[THREADS];
shared int start = 17;

// What C calls: a neighbour's number by way of shared memory.
int upc_ring(int mine)
{
  cells[MYTHREAD] = mine + start;
  upc_barrier;
  int got = cells[(MYTHREAD + 1) % THREADS];
  upc_barrier;
  return got;
}
