/* An object as a translator makes it, for the threads that it was compiled for. */
#include "upcr.h"
GASNETT_IDENT(UPCRI_IdentString_new, "$UPCRConfig: (new.o) " UPCR_CONFIG_STRING UPCRI_THREADCONFIG_STR " $");
int old(void) { return 1; }
