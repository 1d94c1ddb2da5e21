// object: . -T=2
// object: _neutral.upc
// expect-link-error: thread
#include <upc.h>
int main(void) { return 0; }
