/* upc_tick.h: a clock of the calling thread. */
#ifndef _UPC_TICK_H
#define _UPC_TICK_H 1

#include <stdint.h>
#include <upc_types.h>

typedef uint64_t upc_tick_t;
#define UPC_TICK_MAX UINT64_MAX
#define UPC_TICK_MIN ((upc_tick_t)0)

upc_tick_t upc_ticks_now(void);
uint64_t upc_ticks_to_ns(upc_tick_t ticks);

#endif
