// UPC_BARRIER_MISMATCH_WARNS=yes makes a warning of it.
// threads: 2 4
// env: UPC_BARRIER_MISMATCH_WARNS=yes
// expect-stderr: barrier mismatch detected
#include "check.h"
int main(void)
{
    upc_barrier MYTHREAD;
    PASS();
}
