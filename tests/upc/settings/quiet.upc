// UPC_QUIET: no warnings of the runtime.
// threads: 2
// static: no
// env: UPC_BARRIER_MISMATCH_WARNS=yes
// env: UPC_QUIET=yes
// expect-never: warning
// expect-never: mismatch
#include "check.h"
int main(void)
{
    upc_barrier MYTHREAD;
    PASS();
}
