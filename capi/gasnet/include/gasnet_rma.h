/* Put, get and memset. A transfer to memory that this process maps is done here, inline:
 * one bounds check and one copy. Everything else, and every mistake, goes to the library.
 * Part of gasnet.h; do not include it alone. */
#ifndef _GASNET_RMA_H
#define _GASNET_RMA_H

#include "gasnet_near.h"

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

GASNETT_INLINE(gasnet_put)
void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  char *to;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, dest, &to))) gasneti_copy(to, src, nbytes);
  else gasneti_put(node, dest, src, nbytes);
}
GASNETT_INLINE(gasnet_get)
void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  char *from;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, src, &from))) gasneti_copy(dest, from, nbytes);
  else gasneti_get(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset)
void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *to;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, dest, &to))) gasneti_fill(to, val, nbytes);
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
  char *to;
  if (GASNETT_PREDICT_FALSE(!gasneti_maps(node, dest, &to))) return gasneti_put_nb(node, dest, src, nbytes, bulk);
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
  char *from;
  if (GASNETT_PREDICT_FALSE(!gasneti_maps(node, src, &from))) return gasneti_get_nb(dest, node, src, nbytes);
  gasneti_copy(dest, from, nbytes);
  return GASNET_INVALID_HANDLE;
}
GASNETT_INLINE(gasnet_get_nb_bulk)
gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  return gasnet_get_nb(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset_nb)
gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *to;
  if (GASNETT_PREDICT_FALSE(!gasneti_maps(node, dest, &to))) return gasneti_memset_nb(node, dest, val, nbytes);
  gasneti_fill(to, val, nbytes);
  return GASNET_INVALID_HANDLE;
}

/* What was complete when it was started, as all to mapped memory is, costs a comparison. */
GASNETT_INLINE(gasnet_wait_syncnb)
void gasnet_wait_syncnb(gasnet_handle_t handle) {
  if (GASNETT_PREDICT_FALSE(handle != GASNET_INVALID_HANDLE || gasneti_abi.check))
    gasneti_wait_syncnb(handle);
  else gasneti_complete();
}
GASNETT_INLINE(gasnet_try_syncnb)
int gasnet_try_syncnb(gasnet_handle_t handle) {
  if (GASNETT_PREDICT_FALSE(handle != GASNET_INVALID_HANDLE || gasneti_abi.check))
    return gasneti_try_syncnb(handle);
  gasneti_complete();
  return GASNET_OK;
}

GASNETT_INLINE(gasneti_put_nbi_either)
void gasneti_put_nbi_either(gasnet_node_t node, void *dest, const void *src, size_t nbytes, int bulk) {
  char *to;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, dest, &to))) gasneti_copy(to, src, nbytes);
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
  char *from;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, src, &from))) gasneti_copy(dest, from, nbytes);
  else gasneti_get_nbi(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_get_nbi_bulk)
void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  gasnet_get_nbi(dest, node, src, nbytes);
}
GASNETT_INLINE(gasnet_memset_nbi)
void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  char *to;
  if (GASNETT_PREDICT_TRUE(gasneti_maps(node, dest, &to))) gasneti_fill(to, val, nbytes);
  else gasneti_memset_nbi(node, dest, val, nbytes);
}

/* ---- values: the low-order nbytes of a register --------------------------------------- */
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
