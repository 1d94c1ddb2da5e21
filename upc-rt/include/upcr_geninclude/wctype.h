/* upcr_geninclude/wctype.h: the header as translated files name it. */
#include <wctype.h>
