/* Transfers of many pieces: vector (any pieces), indexed (equal pieces at listed places), strided (a box
 * in an array; count[0] contiguous bytes, then stridelevels counts and distances in bytes). Both sides have
 * the same number of bytes. The lists are read during the call; the memory of a transfer stays as it is
 * until completion. Included by gasnet.h. */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H

#include "gasnet.h"

#include <stdio.h>

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

/* ---- lists as text, for messages ------------------------------------------------- */
/* Each writes to a buffer of as many bytes as the function with _bufsz says, and returns the bytes of data that are described. */
GASNETT_PLEASE_INLINE(gasnett_format_memveclist_bufsz)
size_t gasnett_format_memveclist_bufsz(size_t count) {
  return 100 + 50 * count;
}

GASNETT_PLEASE_INLINE(gasnett_format_addrlist_bufsz)
size_t gasnett_format_addrlist_bufsz(size_t count) {
  return 100 + 25 * count;
}

GASNETT_PLEASE_INLINE(gasnett_format_putsgets_bufsz)
size_t gasnett_format_putsgets_bufsz(size_t levels) {
  return 300 + 75 * levels;
}

GASNETT_PLEASE_INLINE(gasnett_format_memveclist)
size_t gasnett_format_memveclist(char *buf, size_t count, gasnet_memvec_t const *list) {
  size_t total = 0, i;
  for (i = 0; i < count; i++) total += list[i].len;
  buf += sprintf(buf, "%lu pieces, %lu bytes:", (unsigned long)count, (unsigned long)total);
  for (i = 0; i < count; i++) {
    buf += sprintf(buf, " 0x%lx+%lu", (unsigned long)(uintptr_t)list[i].addr, (unsigned long)list[i].len);
  }
  return total;
}

GASNETT_PLEASE_INLINE(gasnett_format_addrlist)
size_t gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len) {
  size_t i;
  buf += sprintf(buf, "%lu pieces of %lu bytes:", (unsigned long)count, (unsigned long)len);
  for (i = 0; i < count; i++) buf += sprintf(buf, " 0x%lx", (unsigned long)(uintptr_t)list[i]);
  return count * len;
}

GASNETT_PLEASE_INLINE(gasneti_format_sizes)
char *gasneti_format_sizes(char *buf, const char *name, size_t count, const size_t *list) {
  size_t i;
  buf += sprintf(buf, " %s=[", name);
  for (i = 0; i < count; i++) buf += sprintf(buf, i ? ", %lu" : "%lu", (unsigned long)list[i]);
  return buf + sprintf(buf, "]");
}

/* stats: takes no part */
GASNETT_PLEASE_INLINE(gasnett_format_putsgets)
size_t gasnett_format_putsgets(char *buf, void *stats, gasnet_node_t node, void *dst, const size_t *dststrides,
                               void *src, const size_t *srcstrides, const size_t *count, size_t levels) {
  size_t total = 1, i;
  (void)stats;
  for (i = 0; i <= levels; i++) total *= count[i];
  buf += sprintf(buf, "%lu bytes, node %lu, to 0x%lx", (unsigned long)total, (unsigned long)node,
                 (unsigned long)(uintptr_t)dst);
  buf = gasneti_format_sizes(buf, "strides", levels, dststrides);
  buf += sprintf(buf, ", from 0x%lx", (unsigned long)(uintptr_t)src);
  buf = gasneti_format_sizes(buf, "strides", levels, srcstrides);
  (void)gasneti_format_sizes(buf, "count", levels + 1, count);
  return total;
}

GASNETT_END_EXTERNC

#endif
