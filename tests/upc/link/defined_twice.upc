// object: .
// object: _defined_other.upc
// static: no
// expect-link-error: x
#include <upc.h>
shared int x = 1;
int main(void) { return 0; }
