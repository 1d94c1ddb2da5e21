#include <upc_types.h>
#include <upc_tick.h>
#include <upc.h>
#include <upc_tick.h>
#include <upc_types.h>
int from_dot_c(void) { return UPC_ADD != 0 && upc_ticks_now() <= UPC_TICK_MAX; }
