// The heap is that of the link, wherever main was compiled.
// threads: 1 2
// object: .
// flags: -shared-heap=1MB
// expect-runtime: out of shared memory
// expect-once: UPC Runtime error:
#include <upc.h>
int main(void) { return upc_alloc(2 << 20) == NULL; }
