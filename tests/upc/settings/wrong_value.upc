// A value that makes no sense is an error at start, said once.
// threads: 1 2
// static: no
// env: UPC_SHARED_ALLOC_ALIGN=7
// expect-runtime: UPC_SHARED_ALLOC_ALIGN=7: not understood; it takes: power of two
// expect-once: UPC Runtime error:
#include <upc.h>
int main(void) { return 0; }
