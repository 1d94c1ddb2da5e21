/* upcr_geninclude/string.h: the header as translated files name it. */
#include <string.h>
