// Files as a translator makes them, of static shared data, loops and synchronisation, with one that upcc compiled: all start-up functions run.
// files: _stencil.trans.c _other.trans.c
// flags: -extern-main
// args: x
#include <upc.h>

shared int counters[THREADS];

// Compiled by upcc and called by nobody: its shared data has to be there all the same.
int upc_side(int n)
{
  counters[MYTHREAD] = n;
  return counters[MYTHREAD];
}
