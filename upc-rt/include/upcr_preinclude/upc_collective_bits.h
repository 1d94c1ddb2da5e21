/* upc_collective_bits.h: the constants of upc_collective.h. Plain C. */
#ifndef _UPC_COLLECTIVE_BITS_H
#define _UPC_COLLECTIVE_BITS_H 1

#include "../upc_types.h"

/* operations beyond those of upc_types.h: the function argument, commutative or not */
#define UPC_FUNC         (1 << 22)
#define UPC_NONCOMM_FUNC (1 << 23)

#endif
