// [*] belongs to the declaration of an array.
#include <upc.h>
extern shared [*] int incomplete[]; // expect-error:
shared [*] int *pointee; // expect-error:
shared [*] int (*row)[4]; // expect-error:
shared [*] int **deeper; // expect-error:
typedef shared [*] int type[4 * THREADS]; // expect-error:
shared [*] int fine[4 * THREADS];
int main(void) { return 0; }
