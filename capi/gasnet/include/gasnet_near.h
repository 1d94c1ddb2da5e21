/* Memory of other ranks that this process maps, and values in registers: what the inline transfers of GASNet-1 and
 * GASNet-EX are made of. Part of gasnetex.h; do not include it alone. */
#ifndef _GASNET_NEAR_H
#define _GASNET_NEAR_H

#include "gasnet_types.h"
#include "gasnet_membar.h"

#include <string.h>

GASNETT_BEGIN_EXTERNC

/* Whether this process maps [p, p+nbytes) on that node; *at is our address of it then. Of 0 bytes it says no: their
 * address may be anything, null for one. */
GASNETT_INLINE(gasneti_near)
int gasneti_near(gasnet_node_t node, const void *p, size_t nbytes, char **at) {
  if (GASNETT_PREDICT_TRUE(node < gasneti_abi.size)) {
    const gasneti_peer_t *peer = &gasneti_abi.peer[node];
    const uintptr_t offset = (uintptr_t)p - peer->base;
    *at = (char *)((uintptr_t)p + (uintptr_t)peer->delta);
    return GASNETT_PREDICT_TRUE(nbytes - 1 < peer->near && offset <= peer->near - nbytes);
  }
  *at = NULL;
  return 0;
}

/* Copies up to 64 bytes by a few loads and then a few stores. Words are stored once, where the library's memcpy and
 * memset may store them twice: their owner may have seen the first and written something else. Other lengths over 8
 * are two blocks that overlap in the middle. */
typedef char gasneti_block_t __attribute__((__vector_size__(16)));
GASNETT_INLINE(gasneti_copy_small)
void gasneti_copy_small(char *dest, const char *src, size_t nbytes) {
  if (nbytes == 8) {
    memcpy(dest, src, 8);
  } else if (nbytes > 32) {
    gasneti_block_t first[2], last[2];
    memcpy(first, src, 32);
    memcpy(last, src + nbytes - 32, 32);
    memcpy(dest, first, 32);
    memcpy(dest + nbytes - 32, last, 32);
  } else if (nbytes > 16) {
    gasneti_block_t first, last;
    memcpy(&first, src, 16);
    memcpy(&last, src + nbytes - 16, 16);
    memcpy(dest, &first, 16);
    memcpy(dest + nbytes - 16, &last, 16);
  } else if (nbytes > 8) {
    uint64_t first, last;
    memcpy(&first, src, 8);
    memcpy(&last, src + nbytes - 8, 8);
    memcpy(dest, &first, 8);
    memcpy(dest + nbytes - 8, &last, 8);
  } else {
    switch (nbytes) {
      case 1: memcpy(dest, src, 1); break;
      case 2: memcpy(dest, src, 2); break;
      case 4: memcpy(dest, src, 4); break;
      default: memcpy(dest, src, nbytes);
    }
  }
}

/* Other processes change this memory: the compiler must neither remember it nor delay it. */
GASNETT_INLINE(gasneti_copy)
void gasneti_copy(void *dest, const void *src, size_t nbytes) {
  gasnett_compiler_fence();
  if (__builtin_constant_p(nbytes)) {
    memcpy(dest, src, nbytes);
  } else {
    /* The compiler forgets whose memory this is: it would warn of lengths that a caller's small object never meets. */
    __asm__("" : "+r"(dest), "+r"(src));
    if (GASNETT_PREDICT_TRUE(nbytes > 64)) memcpy(dest, src, nbytes);
    else gasneti_copy_small((char *)dest, (const char *)src, nbytes);
  }
  gasnett_compiler_fence();
}
GASNETT_INLINE(gasneti_fill)
void gasneti_fill(void *dest, int val, size_t nbytes) {
  if (nbytes <= 8 && (nbytes & (nbytes - 1)) == 0) {
    const uint32_t half = 0x01010101u * (unsigned char)val;
    const uint64_t word = (uint64_t)half << 32 | half;
    gasneti_copy(dest, &word, nbytes);
  } else {
    gasnett_compiler_fence();
    memset(dest, val, nbytes);
    gasnett_compiler_fence();
  }
}

extern void gasneti_bad_value_size(size_t nbytes);
/* the low-order nbytes of a register */
GASNETT_INLINE(gasneti_value_bytes)
const char *gasneti_value_bytes(const gasnet_register_value_t *value, size_t nbytes) {
  if (GASNETT_PREDICT_FALSE(nbytes - 1 >= sizeof(*value))) gasneti_bad_value_size(nbytes);
#if PLATFORM_ARCH_BIG_ENDIAN
  return (const char *)value + (sizeof(*value) - nbytes);
#else
  return (const char *)value;
#endif
}
GASNETT_END_EXTERNC

#endif
