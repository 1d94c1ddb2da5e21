// A thread that does not exist cannot wait for a debugger: said once, and the program runs.
// threads: 2
// static: no
// env: UPC_FREEZE=2
// expect-once: UPC_FREEZE=2: no such thread; there are 0 to 1
#include "../check.h"
int main(void) { PASS(); }
