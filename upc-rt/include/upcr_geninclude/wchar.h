/* upcr_geninclude/wchar.h: the header as translated files name it. */
#include <wchar.h>
