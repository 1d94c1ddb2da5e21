/* upcr_geninclude/stddef.h: the header as translated files name it. */
#include <stddef.h>
