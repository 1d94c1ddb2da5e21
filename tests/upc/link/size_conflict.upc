// object: .
// object: _size_other.upc
// static: no
// expect-link-error: array
#include <upc.h>
shared [2] int array[8 * THREADS];
int main(void) { return 0; }
