// Layout constants that are none.
#include <upc.h>
int n = 3;
shared [0.5] int a[THREADS]; // expect-error:
shared [-3] int b[THREADS]; // expect-error:
shared [n] int c[THREADS]; // expect-error:
shared [UPC_MAX_BLOCK_SIZE + 1] int d[THREADS]; // expect-error:
shared [*] char e[(UPC_MAX_BLOCK_SIZE + 1L) * THREADS]; // expect-error:
shared [5] void *f; // expect-error:
shared [] void *g; // expect-error:
shared [1] void *h; // expect-error:
shared [2 + 1] int fine[THREADS];
shared [(int)sizeof(int)] int fine_too[THREADS];
int main(void) { return 0; }
