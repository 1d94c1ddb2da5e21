/* upcr_geninclude/complex.h: the header as translated files name it. */
#include <complex.h>
