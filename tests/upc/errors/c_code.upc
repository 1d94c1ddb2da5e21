// UPC in parts that are said to be C; pragmas that are unbalanced or contradict each other, in headers, too.
// static: no
#include <upc.h>
#pragma upc c_code
shared int x; // expect-error:
#pragma upc upc_code
shared int y;
#pragma upc end_upc_only // expect-diagnostic:
#include "_modes.h"
#pragma upc start_upc_only
#include "_c_inside.h"
#pragma upc end_upc_only
int main(void) { return 0; }
