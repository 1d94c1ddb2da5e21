/* upcr_geninclude/unistd.h: the header as translated files name it. */
#include <unistd.h>
