/* upcr_geninclude/strings.h: the header as translated files name it. */
#include <strings.h>
