// Options of upcrun reach the program as settings; those without a meaning here are taken.
// threads: 2 3
// static: no
// upcrun: -q -norc -shared-heap=2MB -bind-threads -polite-sync -pshm-width 1 -N 1 -c 4 -p 1 -notrace -nofreeze -nofreeze-on-error -noabort -nobacktrace -backtrace-type=all -encode-args -encode-env -encode -noshow -noinfo -network smp
#include "check.h"
#include <upc_castable.h>
#include <string.h>
shared int a[THREADS];
int main(void)
{
    CHECK(strcmp(getenv("UPC_SHARED_HEAP_SIZE"), "2097152B") == 0);
    CHECK(strcmp(getenv("UPC_POLITE_SYNC"), "yes") == 0);
    CHECK(strcmp(getenv("GASNET_NEIGHBORHOOD"), "1") == 0);
    CHECK(strcmp(getenv("GASNET_CONDUIT"), "smp") == 0);
    CHECK(getenv("UPC_ABORT") == NULL || strcmp(getenv("UPC_ABORT"), "no") == 0);
    // Memory of others is not mapped.
    CHECK(THREADS == 1 || upc_cast(&a[(MYTHREAD + 1) % THREADS]) == NULL);
    a[(MYTHREAD + 1) % THREADS] = 5;
    upc_barrier;
    CHECK_EQ(a[MYTHREAD], 5);
    PASS();
}
