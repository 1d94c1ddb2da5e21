/* Transfers of many pieces: vector (any pieces), indexed (equal pieces at listed places), strided (a box
 * in an array; count[0] contiguous bytes, then stridelevels counts and distances in bytes). Both sides have
 * the same number of bytes. The lists are read during the call; the memory of a transfer stays as it is
 * until completion. Included by gasnet.h. */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H

#include "gasnet.h"

GASNETT_BEGIN_EXTERNC

/* remote side first; mode 0 blocking, 1 with a handle, 2 implicit */
extern gasnet_handle_t gasneti_vis_v(int get, int mode, gasnet_node_t node, size_t remotes,
                                     gasnet_memvec_t const *remote, size_t locals, gasnet_memvec_t const *local);
extern gasnet_handle_t gasneti_vis_i(int get, int mode, gasnet_node_t node, size_t remotes, void *const *remote,
                                     size_t remote_len, size_t locals, void *const *local, size_t local_len);
extern gasnet_handle_t gasneti_vis_s(int get, int mode, gasnet_node_t node, const void *remote,
                                     const size_t *remote_strides, const void *local, const size_t *local_strides,
                                     const size_t *count, size_t levels);

GASNETT_PLEASE_INLINE(gasnet_putv_bulk)
void gasnet_putv_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount,
                      gasnet_memvec_t const srclist[]) {
  (void)gasneti_vis_v(0, 0, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_putv_nb_bulk)
gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[],
                                    size_t srccount, gasnet_memvec_t const srclist[]) {
  return gasneti_vis_v(0, 1, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_putv_nbi_bulk)
void gasnet_putv_nbi_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[],
                          size_t srccount, gasnet_memvec_t const srclist[]) {
  (void)gasneti_vis_v(0, 2, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_bulk)
void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node, size_t srccount,
                      gasnet_memvec_t const srclist[]) {
  (void)gasneti_vis_v(1, 0, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_nb_bulk)
gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node,
                                    size_t srccount, gasnet_memvec_t const srclist[]) {
  return gasneti_vis_v(1, 1, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_nbi_bulk)
void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node,
                          size_t srccount, gasnet_memvec_t const srclist[]) {
  (void)gasneti_vis_v(1, 2, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_puti_bulk)
void gasnet_puti_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                      size_t srccount, void *const srclist[], size_t srclen) {
  (void)gasneti_vis_i(0, 0, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_puti_nb_bulk)
gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                                    size_t srccount, void *const srclist[], size_t srclen) {
  return gasneti_vis_i(0, 1, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_puti_nbi_bulk)
void gasnet_puti_nbi_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                          size_t srccount, void *const srclist[], size_t srclen) {
  (void)gasneti_vis_i(0, 2, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_bulk)
void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                      size_t srccount, void *const srclist[], size_t srclen) {
  (void)gasneti_vis_i(1, 0, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_nb_bulk)
gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                                    size_t srccount, void *const srclist[], size_t srclen) {
  return gasneti_vis_i(1, 1, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_nbi_bulk)
void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                          size_t srccount, void *const srclist[], size_t srclen) {
  (void)gasneti_vis_i(1, 2, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_puts_bulk)
void gasnet_puts_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                      const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)gasneti_vis_s(0, 0, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_puts_nb_bulk)
gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                                    const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  return gasneti_vis_s(0, 1, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_puts_nbi_bulk)
void gasnet_puts_nbi_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                          const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)gasneti_vis_s(0, 2, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_bulk)
void gasnet_gets_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                      const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)gasneti_vis_s(1, 0, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_nb_bulk)
gasnet_handle_t gasnet_gets_nb_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                                    const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  return gasneti_vis_s(1, 1, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_nbi_bulk)
void gasnet_gets_nbi_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                          const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)gasneti_vis_s(1, 2, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

GASNETT_END_EXTERNC

#endif
