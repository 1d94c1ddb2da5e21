/* upc_bits.h: what upc.h has for plain C. */
#ifndef _UPC_BITS_H
#define _UPC_BITS_H 1

#include <stddef.h>
#include <upc_types.h>
#include <upc_castable_info.h>

#endif
