/* Put, get and memset. A transfer to memory that this process maps is done here, inline:
 * one bounds check and one copy. Everything else, and every mistake, goes to the library.
 * Part of gasnet.h; do not include it alone. */
#ifndef _GASNET_RMA_H
#define _GASNET_RMA_H

#include "gasnet_fwd.h"
#include "gasnet_membar.h"

#include <string.h>

GASNETT_BEGIN_EXTERNC

extern void gasneti_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
extern void gasneti_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
extern void gasneti_memset(gasnet_node_t node, void *dest, int val, size_t nbytes);
/* bulk: the source stays untouched until completion */
extern gasnet_handle_t gasneti_put_nb(gasnet_node_t node, void *dest, const void *src,
                                      size_t nbytes, int bulk);
extern gasnet_handle_t gasneti_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
extern gasnet_handle_t gasneti_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes);
extern void gasneti_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes, int bulk);
extern void gasneti_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
extern void gasneti_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes);
extern void gasneti_bad_value_size(size_t nbytes);
extern gasnet_valget_handle_t gasneti_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes);
extern gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle);

extern void gasneti_wait_syncnb(gasnet_handle_t handle);
extern int gasneti_try_syncnb(gasnet_handle_t handle);
extern void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t n);
extern int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t n);
extern void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t n);
extern int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t n);
extern void gasnet_wait_syncnbi_gets(void);
extern void gasnet_wait_syncnbi_puts(void);
extern void gasnet_wait_syncnbi_all(void);
extern int gasnet_try_syncnbi_gets(void);
extern int gasnet_try_syncnbi_puts(void);
extern int gasnet_try_syncnbi_all(void);
extern void gasnet_begin_nbi_accessregion(void);
extern gasnet_handle_t gasnet_end_nbi_accessregion(void);

/* Our address of [p, p+nbytes) on that node, or null when there is none. */
GASNETT_INLINE(gasneti_near)
char *gasneti_near(gasnet_node_t node, const void *p, size_t nbytes) {
  if (GASNETT_PREDICT_TRUE(node < gasneti_abi.size)) {
    const gasneti_peer_t *peer = &gasneti_abi.peer[node];
    const uintptr_t offset = (uintptr_t)p - peer->base;
    if (GASNETT_PREDICT_TRUE(nbytes <= peer->near && offset <= peer->near - nbytes))
      return (char *)((uintptr_t)p + (uintptr_t)peer->delta);
  }
  return NULL;
}

/* Other processes change this memory: the compiler must neither remember it nor delay it. Words are stored once, where
 * the library's memcpy and memset may store them twice: their owner may have seen the first and written something else. */
GASNETT_INLINE(gasneti_copy)
void gasneti_copy(void *dest, const void *src, size_t nbytes) {
  gasnett_compiler_fence();
  switch (nbytes) {
    case 1: memcpy(dest, src, 1); break;
    case 2: memcpy(dest, src, 2); break;
    case 4: memcpy(dest, src, 4); break;
    case 8: memcpy(dest, src, 8); break;
    default: memcpy(dest, src, nbytes);
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

GASNETT_INLINE(gasnet_put)
void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_TRUE(to != NULL)) gasneti_copy(to, src, nbytes);
  else gasneti_put(node, dest, src, nbytes);
}
GASNETT_INLINE(gasnet_get)
void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  const char *const from = gasneti_near(node, src, nbytes);
  if (GASNETT_PREDICT_TRUE(from != NULL)) gasneti_copy(dest, from, nbytes);
  else gasneti_get(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset)
void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_TRUE(to != NULL)) gasneti_fill(to, val, nbytes);
  else gasneti_memset(node, dest, val, nbytes);
}
GASNETT_INLINE(gasnet_put_bulk)
void gasnet_put_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  gasnet_put(node, dest, src, nbytes);
}
GASNETT_INLINE(gasnet_get_bulk)
void gasnet_get_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  gasnet_get(dest, node, src, nbytes);
}

GASNETT_INLINE(gasneti_put_nb_either)
gasnet_handle_t gasneti_put_nb_either(gasnet_node_t node, void *dest, const void *src,
                                      size_t nbytes, int bulk) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_FALSE(to == NULL)) return gasneti_put_nb(node, dest, src, nbytes, bulk);
  gasneti_copy(to, src, nbytes);
  return GASNET_INVALID_HANDLE;
}
GASNETT_INLINE(gasnet_put_nb)
gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  return gasneti_put_nb_either(node, dest, src, nbytes, 0);
}
GASNETT_INLINE(gasnet_put_nb_bulk)
gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  return gasneti_put_nb_either(node, dest, src, nbytes, 1);
}
GASNETT_INLINE(gasnet_get_nb)
gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  const char *const from = gasneti_near(node, src, nbytes);
  if (GASNETT_PREDICT_FALSE(from == NULL)) return gasneti_get_nb(dest, node, src, nbytes);
  gasneti_copy(dest, from, nbytes);
  return GASNET_INVALID_HANDLE;
}
GASNETT_INLINE(gasnet_get_nb_bulk)
gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  return gasnet_get_nb(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset_nb)
gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_FALSE(to == NULL)) return gasneti_memset_nb(node, dest, val, nbytes);
  gasneti_fill(to, val, nbytes);
  return GASNET_INVALID_HANDLE;
}

/* What was complete when it was started, as all to mapped memory is, costs a comparison. */
GASNETT_INLINE(gasnet_wait_syncnb)
void gasnet_wait_syncnb(gasnet_handle_t handle) {
  if (GASNETT_PREDICT_FALSE(handle != GASNET_INVALID_HANDLE || gasneti_abi.check))
    gasneti_wait_syncnb(handle);
}
GASNETT_INLINE(gasnet_try_syncnb)
int gasnet_try_syncnb(gasnet_handle_t handle) {
  if (GASNETT_PREDICT_FALSE(handle != GASNET_INVALID_HANDLE || gasneti_abi.check))
    return gasneti_try_syncnb(handle);
  return GASNET_OK;
}

GASNETT_INLINE(gasneti_put_nbi_either)
void gasneti_put_nbi_either(gasnet_node_t node, void *dest, const void *src, size_t nbytes, int bulk) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_TRUE(to != NULL)) gasneti_copy(to, src, nbytes);
  else gasneti_put_nbi(node, dest, src, nbytes, bulk);
}
GASNETT_INLINE(gasnet_put_nbi)
void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  gasneti_put_nbi_either(node, dest, src, nbytes, 0);
}
GASNETT_INLINE(gasnet_put_nbi_bulk)
void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  gasneti_put_nbi_either(node, dest, src, nbytes, 1);
}
GASNETT_INLINE(gasnet_get_nbi)
void gasnet_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  const char *const from = gasneti_near(node, src, nbytes);
  if (GASNETT_PREDICT_TRUE(from != NULL)) gasneti_copy(dest, from, nbytes);
  else gasneti_get_nbi(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_get_nbi_bulk)
void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  gasnet_get_nbi(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset_nbi)
void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *const to = gasneti_near(node, dest, nbytes);
  if (GASNETT_PREDICT_TRUE(to != NULL)) gasneti_fill(to, val, nbytes);
  else gasneti_memset_nbi(node, dest, val, nbytes);
}

/* ---- values: the low-order nbytes of a register --------------------------------------- */
GASNETT_INLINE(gasneti_value_bytes)
const char *gasneti_value_bytes(const gasnet_register_value_t *value, size_t nbytes) {
  if (GASNETT_PREDICT_FALSE(nbytes - 1 >= sizeof(*value))) gasneti_bad_value_size(nbytes);
#if PLATFORM_ARCH_BIG_ENDIAN
  return (const char *)value + (sizeof(*value) - nbytes);
#else
  return (const char *)value;
#endif
}
GASNETT_INLINE(gasnet_put_val)
void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
  gasnet_put(node, dest, gasneti_value_bytes(&value, nbytes), nbytes);
}
GASNETT_INLINE(gasnet_put_nb_val)
gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                  size_t nbytes) {
  return gasnet_put_nb(node, dest, gasneti_value_bytes(&value, nbytes), nbytes);
}
GASNETT_INLINE(gasnet_put_nbi_val)
void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
  gasnet_put_nbi(node, dest, gasneti_value_bytes(&value, nbytes), nbytes);
}
GASNETT_INLINE(gasnet_get_val)
gasnet_register_value_t gasnet_get_val(gasnet_node_t node, const void *src, size_t nbytes) {
  gasnet_register_value_t value = 0;
  gasnet_get((char *)gasneti_value_bytes(&value, nbytes), node, src, nbytes);
  return value;
}
GASNETT_INLINE(gasnet_get_nb_val)
gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes) {
  return gasneti_get_nb_val(node, src, nbytes);
}

GASNETT_END_EXTERNC

#endif
