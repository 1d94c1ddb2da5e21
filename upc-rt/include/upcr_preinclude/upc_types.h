/* upcr_preinclude/upc_types.h: see upc_types.h. */
#include <upc_types.h>
