// static: no
// object: .
// expect-link-error: nowhere
#include <upc.h>
extern shared int nowhere;
int main(void) { return nowhere; }
