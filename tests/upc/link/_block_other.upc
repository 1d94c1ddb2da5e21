#include <upc.h>
extern shared [4] int array[8 * THREADS];
int other(void) { return array[0]; }
