// threads: 2 4
// flags: -T 3
// expect-runtime: 3
#include <upc.h>
int main(void) { return 0; }
