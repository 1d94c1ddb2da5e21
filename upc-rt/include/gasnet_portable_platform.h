/* gasnet_portable_platform.h: see portable_platform.h. */
#include "portable_platform.h"
