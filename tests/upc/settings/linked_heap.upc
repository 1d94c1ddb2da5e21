// What the linker was told holds for the program: the heap, and that less will do.
// threads: 1 2
// static: no
// flags: -shared-heap=1TB -norequire-size -nosize-warn
// expect-never: warning
#include "check.h"
int main(void) { CHECK(upc_alloc(1 << 20) != NULL); PASS(); }
