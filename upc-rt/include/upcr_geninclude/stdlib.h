/* upcr_geninclude/stdlib.h: the header as translated files name it. */
#include <stdlib.h>
