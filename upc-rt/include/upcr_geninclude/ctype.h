/* upcr_geninclude/ctype.h: the header as translated files name it. */
#include <ctype.h>
