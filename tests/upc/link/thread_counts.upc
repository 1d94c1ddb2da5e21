// object: . -T 2
// object: _neutral.upc -T 3
// expect-link-error: thread
#include <upc.h>
int main(void) { return 0; }
