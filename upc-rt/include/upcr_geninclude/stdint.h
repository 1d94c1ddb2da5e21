/* upcr_geninclude/stdint.h: the header as translated files name it. */
#include <stdint.h>
