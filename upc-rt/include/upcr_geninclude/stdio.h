/* upcr_geninclude/stdio.h: the header as translated files name it. */
#include <stdio.h>
