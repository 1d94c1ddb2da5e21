/* upcr_geninclude/inttypes.h: the header as translated files name it. */
#include <inttypes.h>
