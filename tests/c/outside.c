// A transfer outside the target's segment ends the job and says what was wrong: under the rule checks, and where the
// target shares no memory.
// run: 2 3 | args put | env GASNET_CHECK=1 | status 1 | says put of 8 bytes at address | says outside the segment of rank 1
// run: 2 | args past | env GASNET_CHECK=1 | status 1 | says outside the segment of rank 1
// run: 2 | args get | env GASNET_CHECK=1 | status 1 | says get of 100 bytes
// run: 2 | args memset | env GASNET_CHECK=1 | status 1 | says memset of 4 bytes
// run: 2 | args node | env GASNET_CHECK=1 | status 134 | says there is no node 7; the job has 2 nodes
// run: 2 | args long | status 134 | says long message of 8 bytes
// run: 2 | args value | status 134 | says values have 1 to 8 bytes
// run: 2 | args put | env GASNET_NEIGHBORHOOD=off | status 1 | says put of 8 bytes at address
// run: 2 | args handler | status 1 | says handler 222, which is not registered
#include <gasnet.h>

#include "check.h"

int main(int argc, char **argv) {
  char bytes[100] = { 0 };
  volatile gasnet_node_t nobody = 7;
  volatile size_t nine = 9;
  const char *what = argc > 1 ? argv[1] : "";
  char *segment;
  start(&argc, &argv, NULL, 0);
  segment = segment_of(1);
  if (gasnet_mynode() == 0) {
    if (!strcmp(what, "put")) gasnet_put(1, segment - 8, bytes, 8);
    if (!strcmp(what, "past")) gasnet_put_nbi(1, segment + SEGMENT_BYTES - 7, bytes, 8);
    if (!strcmp(what, "get")) gasnet_get(bytes, 1, segment + SEGMENT_BYTES, 100);
    if (!strcmp(what, "memset")) gasnet_memset(1, segment + SEGMENT_BYTES - 3, 1, 4);
    if (!strcmp(what, "node")) gasnet_put(nobody, segment, bytes, 8);
    if (!strcmp(what, "long")) gasnet_AMRequestLong0(1, 200, bytes, 8, segment + SEGMENT_BYTES);
    if (!strcmp(what, "value")) gasnet_put_val(1, segment, 1, nine);
    if (!strcmp(what, "handler")) gasnet_AMRequestShort0(1, 222);
  }
  GASNET_BLOCKUNTIL(0);
  return 0;
}
