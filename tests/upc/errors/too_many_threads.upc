// flags: -T 2147483647
// expect-error: threads
#include <upc.h>
int main(void) { return 0; }
