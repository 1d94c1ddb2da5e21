/* upc_relaxed.h: accesses are relaxed unless qualified otherwise. No include guard around the pragma. */
#pragma upc relaxed
#include <upc.h>
