// UPC_POLITE_SYNC: waiting threads give up the processor; programs do the same.
// env: UPC_POLITE_SYNC=yes
#include "check.h"
shared int a[THREADS];
int main(void)
{
    for (int i = 0; i < 100; i++) {
        a[(MYTHREAD + 1) % THREADS]++;
        upc_barrier;
    }
    CHECK_EQ(a[MYTHREAD], 100);
    PASS();
}
