/* upcr_geninclude/float.h: the header as translated files name it. */
#include <float.h>
