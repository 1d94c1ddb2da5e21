/* bupc_extensions.h: extensions of Berkeley UPC that this runtime has. Included by upc.h unless
 * BUPC_DISABLE_EXTENSIONS is defined. */
#ifndef _BUPC_EXTENSIONS_H
#define _BUPC_EXTENSIONS_H 1

#include <stddef.h>
#include <stdint.h>

/* progress of the network; no fence */
void bupc_poll(void);
void upc_poll(void);

/* the clock of upc_tick.h under its old names */
typedef uint64_t bupc_tick_t;
#define BUPC_TICK_MAX UINT64_MAX
#define BUPC_TICK_MIN ((bupc_tick_t)0)
bupc_tick_t bupc_ticks_now(void);
uint64_t bupc_ticks_to_us(bupc_tick_t ticks);
uint64_t bupc_ticks_to_ns(bupc_tick_t ticks);
double bupc_tick_granularityus(void);
double bupc_tick_overheadus(void);

#endif
