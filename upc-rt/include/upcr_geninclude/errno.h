/* upcr_geninclude/errno.h: the header as translated files name it. */
#include <errno.h>
