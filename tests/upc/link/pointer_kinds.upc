// object: .
// object: _neutral.upc -fupc-pts=struct
// static: no
// expect-link-error: pts
#include <upc.h>
int main(void) { return 0; }
