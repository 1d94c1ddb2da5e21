// An object of a translator for other threads than the rest.
// threads: 1
// static: no
// object: _translated.trans.c -T2
// expect-link-error: THREADS
#include <upc.h>
shared int a[THREADS];
int old(void);
int main(void) { return old() + a[0]; }
