/* upcr_geninclude/stdarg.h: the header as translated files name it. */
#include <stdarg.h>
