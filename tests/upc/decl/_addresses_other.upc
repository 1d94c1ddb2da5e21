#include <upc.h>

shared int x = 31;
shared [3] int a[5 * THREADS];
shared [3] int *from_other = &a[2];
