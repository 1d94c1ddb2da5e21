/* The function of upcr_init.c that takes a pointer-to-shared, for 16-byte pointers. */
#define __UPC_PTS_STRUCT 1
#define __upcr_wide __upcr_wide_here
#include "upcr.h"

void _upcrt_memput_nb(upcr_shared_ptr_t dst, const void *src, size_t n) { upcr_memput(dst, src, n); }
