/* The half of mixed.c that is compiled for another mode. */
#include <gasnet.h>

int other_part(void) { return (int)gasnet_mynode(); }
