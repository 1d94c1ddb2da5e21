/* upcr_geninclude/fenv.h: the header as translated files name it. */
#include <fenv.h>
