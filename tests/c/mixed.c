// Objects compiled for different thread modes: gasnet_init refuses, and says why.
// mode: seq
// with: mixed_part.c=par
// run: 1 2 | status 3 | says compiled for different modes: 2:PAR:FAST:64, 2:SEQ:FAST:64
#include <gasnet.h>

extern int other_part(void);

int main(int argc, char **argv) {
  if (gasnet_init(&argc, &argv) == GASNET_OK) return other_part();
  return 3;
}
