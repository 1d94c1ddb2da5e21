// Under a limit on addresses (ulimit -v) packed pointers-to-shared may not do: the message says what will.
// threads: 2
// static: no
// then: (ulimit -v 4000000; GASNET_CONDUIT=smp GASNET_PSHM_NODES=$COUNT "$SCRATCH/program") 2>&1 | grep -q 'ulimit -v.*-fupc-pts=struct'
#include "../check.h"
int main(void) { PASS(); }
