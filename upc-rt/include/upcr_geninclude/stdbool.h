/* upcr_geninclude/stdbool.h: the header as translated files name it. */
#include <stdbool.h>
