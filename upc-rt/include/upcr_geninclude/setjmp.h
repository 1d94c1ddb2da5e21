/* upcr_geninclude/setjmp.h: the header as translated files name it. */
#include <setjmp.h>
