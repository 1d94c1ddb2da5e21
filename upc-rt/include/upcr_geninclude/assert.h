/* upcr_geninclude/assert.h: the header as translated files name it. */
#include <assert.h>
