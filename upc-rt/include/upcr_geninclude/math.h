/* upcr_geninclude/math.h: the header as translated files name it. */
#include <math.h>
