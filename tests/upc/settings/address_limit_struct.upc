// Under a limit on addresses (ulimit -v) wide pointers-to-shared take only what heaps need.
// threads: 2
// static: no
// flags: -fupc-pts=struct
// then: (ulimit -v 4000000; UPC_SHARED_HEAP_SIZE=16MB GASNET_CONDUIT=smp GASNET_PSHM_NODES=$COUNT "$SCRATCH/program") | grep -q passed
#include "../check.h"
int main(void) { PASS(); }
