// More heap than pointers can reach is an error at start.
// threads: 1 2
// env: UPC_SHARED_HEAP_SIZE=1TB
// expect-runtime: sufficient shared memory
#include <upc.h>
int main(void) { return 0; }
