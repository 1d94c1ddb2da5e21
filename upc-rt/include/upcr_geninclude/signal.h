/* upcr_geninclude/signal.h: the header as translated files name it. */
#include <signal.h>
