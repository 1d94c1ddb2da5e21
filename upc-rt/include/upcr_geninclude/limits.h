/* upcr_geninclude/limits.h: the header as translated files name it. */
#include <limits.h>
