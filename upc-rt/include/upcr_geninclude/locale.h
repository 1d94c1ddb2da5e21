/* upcr_geninclude/locale.h: the header as translated files name it. */
#include <locale.h>
