/* upcr_geninclude/time.h: the header as translated files name it. */
#include <time.h>
