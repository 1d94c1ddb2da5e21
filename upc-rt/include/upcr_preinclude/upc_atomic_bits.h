/* upc_atomic_bits.h: the constants of upc_atomic.h. Plain C. */
#ifndef _UPC_ATOMIC_BITS_H
#define _UPC_ATOMIC_BITS_H 1

#include "../upc_types.h"

/* operations beyond those of upc_types.h */
#define UPC_GET   (1 << 16)
#define UPC_SET   (1 << 17)
#define UPC_CSWAP (1 << 18)
#define UPC_SUB   (1 << 19)
#define UPC_INC   (1 << 20)
#define UPC_DEC   (1 << 21)

typedef int upc_atomichint_t;
#define UPC_ATOMIC_HINT_DEFAULT    0
#define UPC_ATOMIC_HINT_LATENCY    1
#define UPC_ATOMIC_HINT_THROUGHPUT 2
#define UPC_ATOMIC_HINT_FAVOR_NEAR 4
#define UPC_ATOMIC_HINT_FAVOR_FAR  8

#endif
