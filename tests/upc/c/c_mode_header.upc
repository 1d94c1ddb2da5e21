// A header without UPC in it is C: UPC's keywords are plain names there.
// threads: 1 2
#include "check.h"
#include "_c_mode.h"
shared int x[THREADS];
int main(void)
{
    x[MYTHREAD] = c_function(3);
    CHECK_EQ(x[MYTHREAD], 6);
    PASS();
}
