// -fsanitize=upc: what has been freed is given out again before there is no memory left.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// env: UPC_SHARED_HEAP_SIZE=16MB
#include <upc.h>
#include "check.h"
enum { PIECES = 100, PIECE_BYTES = 155000 };
int main(void)
{
  shared [] char *pieces[PIECES], *big;

  for (int round = 0; round < 200; round++)
    for (int i = 0; i < 40; i++) {
      pieces[i] = upc_alloc(1000 + 100 * i);
      pieces[i][999] = 1;
      upc_free(pieces[i]);
    }
  /* nearly all of it, in pieces and in one */
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < PIECES; i++) {
      pieces[i] = upc_alloc(PIECE_BYTES);
      pieces[i][0] = 1;
    }
    for (int i = PIECES - 1; i >= 0; i--) upc_free(pieces[i]);
    big = upc_alloc(15 << 20);
    big[0] = 1;
    upc_free(big);
  }
  upc_barrier;
  PASS();
}
