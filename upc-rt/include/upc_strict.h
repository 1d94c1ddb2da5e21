/* upc_strict.h: accesses are strict unless qualified otherwise. No include guard around the pragma. */
#pragma upc strict
#include <upc.h>
