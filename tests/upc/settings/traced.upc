// upcrun -traceall -tracefile: what passes between threads is written down, a file for each.
// threads: 2
// static: no
// upcrun: -q -traceall -tracefile=/tmp/upc-traced-%.test
#include "check.h"
#include <stdio.h>
#include <unistd.h>
shared int a[THREADS];
int main(void)
{
    char name[100];
    FILE *f;
    a[(MYTHREAD + 1) % THREADS] = 1;
    upc_barrier;
    snprintf(name, sizeof name, "/tmp/upc-traced-%d.test", MYTHREAD);
    f = fopen(name, "r");
    CHECK(f != NULL);
    fclose(f);
    upc_barrier;
    unlink(name);
    PASS();
}
