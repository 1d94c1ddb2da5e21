// UPC_QUIET: no warnings of the runtime, but for those that the user asks for by name.
// threads: 2
// static: no
// env: UPC_FREEZE=9
// env: UPC_BARRIER_MISMATCH_WARNS=yes
// env: UPC_QUIET=yes
// expect-never: no such thread
// expect-stderr: barrier mismatch detected
#include "check.h"
int main(void)
{
    upc_barrier MYTHREAD;
    PASS();
}
