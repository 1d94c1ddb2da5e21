/* upcr_config.h: included by translated files; everything is in upcr.h. */
#include "upcr.h"
