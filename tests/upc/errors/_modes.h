// Included by c_code.upc. A file ends its own mode.
#pragma upc c_code
#include "_upc_inside.h"
int shared; // still C here
#pragma upc start_upc_only // expect-error:
#pragma upc end_upc_only
