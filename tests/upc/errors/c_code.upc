// UPC in parts that are said to be C, and unbalanced pragmas.
// static: no
#include <upc.h>
#pragma upc c_code
shared int x; // expect-error:
#pragma upc upc_code
shared int y;
#pragma upc end_upc_only // expect-diagnostic:
int main(void) { return 0; }
