// UPC_SIZE_WARN=no does without the warning.
// threads: 1 2
// static: no
// env: UPC_SHARED_HEAP_SIZE=1TB
// env: UPC_REQUIRE_SHARED_SIZE=no
// env: UPC_SIZE_WARN=no
// expect-never: warning
#include "check.h"
int main(void) { CHECK(upc_alloc(1 << 20) != NULL); PASS(); }
