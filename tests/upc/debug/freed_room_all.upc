// -fsanitize=upc: as freed_room, with memory of all threads.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// env: UPC_SHARED_HEAP_SIZE=16MB
#include <upc.h>
#include "check.h"
enum { PIECES = 100, PIECE_BYTES = 155000 };
int main(void)
{
  shared int *pieces[PIECES], *big;

  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < PIECES; i++) {
      pieces[i] = upc_all_alloc(THREADS, PIECE_BYTES);
      pieces[i][MYTHREAD] = 1;
    }
    for (int i = PIECES - 1; i >= 0; i--) upc_all_free(pieces[i]);
    upc_barrier;
    big = upc_all_alloc(THREADS, 15 << 20);
    big[MYTHREAD] = 1;
    upc_all_free(big);
  }
  PASS();
}
