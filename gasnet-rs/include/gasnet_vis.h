/* The vector, indexed and strided interface: its types (gasnet_memvec_t) are in
 * gasnet_fwd.h; its transfers are not part of this release. Included by gasnet.h. */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H

#include "gasnet.h"

#endif
