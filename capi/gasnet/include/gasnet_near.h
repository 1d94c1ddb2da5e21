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
    uintptr_t last;
    *at = (char *)((uintptr_t)p + (uintptr_t)peer->delta);
    if (GASNETT_PREDICT_FALSE(__builtin_add_overflow((uintptr_t)p - peer->base, nbytes - 1, &last))) return 0;
    return GASNETT_PREDICT_TRUE(last < peer->near);
  }
  *at = NULL;
  return 0;
}

/* Whether this process maps the segment of that node; *at is our address of p then. Where in the segment p is, is not
 * asked: under the rule checks inline code knows no nodes, and the library asks. */
GASNETT_INLINE(gasneti_maps_known)
int gasneti_maps_known(gasnet_node_t node, const void *p, char **at) {
  const gasneti_fixed_t delta = gasneti_deltas.of[node];
  *at = (char *)((uintptr_t)p + (uintptr_t)delta);
  return GASNETT_PREDICT_TRUE(!(delta & GASNETI_NOT_MAPPED));
}
GASNETT_INLINE(gasneti_maps)
int gasneti_maps(gasnet_node_t node, const void *p, char **at) {
  *at = NULL;
  return GASNETT_PREDICT_TRUE(node < gasneti_abi.known) && gasneti_maps_known(node, p, at);
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
    /* A call of the library would take longer than the copy of few bytes: they go by blocks, which may overlap. */
    struct { uint64_t word[2]; } a, b, c, d;
    if (GASNETT_PREDICT_TRUE(nbytes > 64)) {
      memcpy(dest, src, nbytes);
    } else if (nbytes > 32) {
      memcpy(&a, src, 16);
      memcpy(&b, (const char *)src + 16, 16);
      memcpy(&c, (const char *)src + nbytes - 32, 16);
      memcpy(&d, (const char *)src + nbytes - 16, 16);
      memcpy(dest, &a, 16);
      memcpy((char *)dest + 16, &b, 16);
      memcpy((char *)dest + nbytes - 32, &c, 16);
      memcpy((char *)dest + nbytes - 16, &d, 16);
    } else if (nbytes >= 16) {
      memcpy(&a, src, 16);
      memcpy(&d, (const char *)src + nbytes - 16, 16);
      memcpy(dest, &a, 16);
      memcpy((char *)dest + nbytes - 16, &d, 16);
    } else switch (nbytes) {
      /* A word is stored once, where the library's memcpy may store it twice: its owner may have seen the first and
       * written something else. */
      case 8: memcpy(dest, src, 8); break;
      case 4: memcpy(dest, src, 4); break;
      case 2: memcpy(dest, src, 2); break;
      case 1: memcpy(dest, src, 1); break;
      default: memcpy(dest, src, nbytes);
    }
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
