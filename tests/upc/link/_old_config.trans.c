/* An object of another release of the interface. */
#include "upcr.h"
GASNETT_IDENT(UPCRI_IdentString_old, "$UPCRConfig: (old.o) VERSION=3.6,PLATFORMENV=shared-distributed,SHMEM=pshm,SHAREDPTRREP=packed/p20:t10:a34,"
                                     "TRANS=any,nodebug,nogasp,dynamicthreads $");
int old(void) { return 1; }
