/* Transfers of many pieces: vector (any pieces), indexed (equal pieces at listed places), strided (a box
 * in an array). Both sides have the same number of bytes. The lists are read during the call; the memory of a
 * transfer stays as it is until completion. First GASNet-EX's (gex_VIS_*), then GASNet-1's. Includes gasnetex.h. */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H

#include "gasnetex.h"

#include <stdio.h>

GASNETT_BEGIN_EXTERNC

/* ---- GASNet-EX ----------------------------------------------------------------------------------------- */
/* how: 0 put, 1 get, plus 0 blocking, 2 with an event, 4 implicit; remote side first */
extern gex_Event_t gasneti_ex_vis_v(int how, gex_TM_t tm, gex_Rank_t rank, size_t remotes, gex_Memvec_t const *remote,
                                    size_t locals, gex_Memvec_t const *local, gex_Flags_t flags);
extern gex_Event_t gasneti_ex_vis_i(int how, gex_TM_t tm, gex_Rank_t rank, size_t remotes, void *const *remote,
                                    size_t remote_len, size_t locals, void *const *local, size_t local_len,
                                    gex_Flags_t flags);
extern gex_Event_t gasneti_ex_vis_s(int how, gex_TM_t tm, gex_Rank_t rank, const void *remote,
                                    const ptrdiff_t *remote_strides, const void *local,
                                    const ptrdiff_t *local_strides, size_t elemsz, const size_t *count,
                                    size_t levels, gex_Flags_t flags);

/* Copies pieces of a segment that this process maps: the peer's entry says where it is. 0: they are not as they must be, and the
 * library says what is wrong with them. Strides and counts as GASNet-EX has them, the length of a run apart. */
extern int gasneti_vis_near_v(int get, const gasneti_peer_t *peer, size_t remotes, const void *remote, size_t locals,
                              const void *local);
extern int gasneti_vis_near_i(int get, const gasneti_peer_t *peer, size_t remotes, void *const *remote,
                              size_t remote_len, size_t locals, void *const *local, size_t local_len);
extern int gasneti_vis_near_s(int get, const gasneti_peer_t *peer, const void *remote, const ptrdiff_t *remote_strides,
                              const void *local, const ptrdiff_t *local_strides, size_t elemsz, const size_t *count,
                              size_t levels);
/* Some thread has set a peer completion: from then on the library sees every put. */
extern int gasneti_vis_armed;

/* The segment of a node, if this process maps it, else NULL. As with a single put, where in the segment the pieces are is not
 * asked here; the library asks. */
GASNETT_INLINE(gasneti_vis_peer)
const gasneti_peer_t *gasneti_vis_peer(gasnet_node_t node) {
  const gasneti_peer_t *peer;
  if (GASNETT_PREDICT_FALSE(node >= gasneti_abi.known)) return NULL;
  peer = &gasneti_abi.peer[node];
  return GASNETT_PREDICT_TRUE(peer->near != 0 && !gasneti_vis_armed) ? peer : NULL;
}
GASNETT_INLINE(gasneti_ex_vis_peer)
const gasneti_peer_t *gasneti_ex_vis_peer(gex_TM_t tm, gex_Rank_t rank) {
  if (GASNETT_PREDICT_TRUE(tm == gasneti_abi.tm)) return gasneti_vis_peer(rank);
  return (uintptr_t)tm == 1 ? gasneti_vis_peer(rank) : NULL;
}

/* One run. */
GASNETT_INLINE(gasneti_vis_one)
int gasneti_vis_one(int get, const gasneti_peer_t *peer, const void *remote, const void *local, size_t nbytes) {
  char *const at = (char *)((uintptr_t)remote + (uintptr_t)peer->delta);
  if (get) gasneti_copy((void *)(uintptr_t)local, at, nbytes);
  else gasneti_copy(at, local, nbytes);
  return 1;
}

/* So few runs are copied without a call of the library, and any number of long ones, which it could not copy faster: it
 * would look at all places first, one by one. */
#define GASNETI_VIS_FEW 64
#define GASNETI_VIS_LONG 64
#define GASNETI_VIS_HERE(count, nbytes) ((count) - 1 < GASNETI_VIS_FEW || ((nbytes) > GASNETI_VIS_LONG && (count) != 0))
/* A loop of the header: one copy of it for each source file, and none where it is not used. */
#define GASNETI_VIS_FUNCTION __attribute__((__noinline__, __unused__)) static

/* Runs of 33 to 128 bytes travel through registers of 32 bytes, if the processor has them: half the instructions of those
 * of 16, which compilers use unless they are told more. Registers that are wide slow down other code until they are over. */
#if defined(__x86_64__)
  #define GASNETI_VIS_WIDE(nbytes) ((nbytes) > 32 && (nbytes) <= 128 && gasneti_abi.wide)
  GASNETT_INLINE(gasneti_vis_copy_wide)
  void gasneti_vis_copy_wide(void *to, const void *from, size_t nbytes) {
    const char *const last = (const char *)from + nbytes - 32;
    char *const to_last = (char *)to + nbytes - 32;
    if (nbytes <= 64) {
      __asm__ __volatile__("vmovdqu (%0), %%ymm0\n\tvmovdqu (%1), %%ymm1\n\tvmovdqu %%ymm0, (%2)\n\tvmovdqu %%ymm1, (%3)"
                           : : "r"(from), "r"(last), "r"(to), "r"(to_last) : "xmm0", "xmm1", "memory");
    } else {
      __asm__ __volatile__("vmovdqu (%0), %%ymm0\n\tvmovdqu 32(%0), %%ymm1\n\tvmovdqu -32(%1), %%ymm2\n\tvmovdqu (%1), %%ymm3\n\t"
                           "vmovdqu %%ymm0, (%2)\n\tvmovdqu %%ymm1, 32(%2)\n\tvmovdqu %%ymm2, -32(%3)\n\tvmovdqu %%ymm3, (%3)"
                           : : "r"(from), "r"(last), "r"(to), "r"(to_last) : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
    }
  }
  GASNETT_INLINE(gasneti_vis_wide_over)
  void gasneti_vis_wide_over(void) {
    __asm__ __volatile__("vzeroupper" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                         "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory");
  }
#else
  #define GASNETI_VIS_WIDE(nbytes) 0
  #define gasneti_vis_copy_wide memcpy
  #define gasneti_vis_wide_over() ((void)0)
#endif

/* Copies run i for i from 0 on, from and to addresses that these expressions give; common lengths by a loop of their own. */
#define GASNETI_VIS_RUNS(count, to, from, nbytes)                     \
  do {                                                                \
    size_t i;                                                         \
    gasnett_compiler_fence();                                         \
    if (GASNETI_VIS_WIDE(nbytes)) {                                   \
      if ((nbytes) == 64) for (i = 0; i < (count); i++) gasneti_vis_copy_wide(to, from, 64); \
      else for (i = 0; i < (count); i++) gasneti_vis_copy_wide(to, from, nbytes);            \
      gasneti_vis_wide_over();                                        \
    } else switch (nbytes) {                                          \
      case 4: for (i = 0; i < (count); i++) memcpy(to, from, 4); break;   \
      case 8: for (i = 0; i < (count); i++) memcpy(to, from, 8); break;   \
      case 16: for (i = 0; i < (count); i++) memcpy(to, from, 16); break; \
      case 32: for (i = 0; i < (count); i++) memcpy(to, from, 32); break; \
      default:                                                        \
        if (GASNETT_PREDICT_TRUE((nbytes) > 8)) for (i = 0; i < (count); i++) memcpy(to, from, nbytes); \
        else for (i = 0; i < (count); i++) gasneti_copy(to, from, nbytes); \
    }                                                                 \
    gasnett_compiler_fence();                                         \
  } while (0)

/* Runs of nbytes at places that step away from each other on both sides. */
GASNETI_VIS_FUNCTION
int gasneti_vis_row(int get, const gasneti_peer_t *peer, const void *remote, ptrdiff_t remote_step, const void *local,
                    ptrdiff_t local_step, size_t nbytes, size_t count) {
  char *const there = (char *)((uintptr_t)remote + (uintptr_t)peer->delta), *const here = (char *)(uintptr_t)local;
  char *const to = get ? here : there, *const from = get ? there : here;
  const ptrdiff_t to_step = get ? local_step : remote_step, from_step = get ? remote_step : local_step;
  GASNETI_VIS_RUNS(count, to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, nbytes);
  return 1;
}

/* Runs at listed places. */
GASNETI_VIS_FUNCTION
int gasneti_vis_few(int get, const gasneti_peer_t *peer, void *const *remote, void *const *local, size_t nbytes,
                    size_t count) {
  const uintptr_t delta = (uintptr_t)peer->delta;
  if (get) GASNETI_VIS_RUNS(count, local[i], (char *)((uintptr_t)remote[i] + delta), nbytes);
  else GASNETI_VIS_RUNS(count, (char *)((uintptr_t)remote[i] + delta), local[i], nbytes);
  return 1;
}

/* The same for pieces, if those of a pair have the same length. */
GASNETI_VIS_FUNCTION
int gasneti_vis_pairs(int get, const gasneti_peer_t *peer, const gex_Memvec_t *r, const gex_Memvec_t *l, size_t count) {
  const uintptr_t delta = (uintptr_t)peer->delta;
  const size_t nbytes = r->gex_len;
  size_t other = 0, n;
  for (n = 0; n < count && nbytes <= 2 * GASNETI_VIS_LONG; n++) other |= (r[n].gex_len ^ nbytes) | (l[n].gex_len ^ nbytes);
  if (other || nbytes > 2 * GASNETI_VIS_LONG) {
    /* If a pair differs, the library begins again: what was copied is copied once more. */
    for (n = 0; n < count; n++) {
      if (GASNETT_PREDICT_FALSE(r[n].gex_len != l[n].gex_len)) return 0;
      (void)gasneti_vis_one(get, peer, r[n].gex_addr, l[n].gex_addr, r[n].gex_len);
    }
    return 1;
  }
  if (get) GASNETI_VIS_RUNS(count, l[i].gex_addr, (char *)((uintptr_t)r[i].gex_addr + delta), nbytes);
  else GASNETI_VIS_RUNS(count, (char *)((uintptr_t)r[i].gex_addr + delta), l[i].gex_addr, nbytes);
  return 1;
}
#undef GASNETI_VIS_RUNS

/* Whether the pieces were copied at once. */
GASNETT_INLINE(gasneti_vis_v_done)
int gasneti_vis_v_done(int get, const gasneti_peer_t *peer, size_t remotes, const void *remote, size_t locals,
                       const void *local) {
  const gex_Memvec_t *const r = (const gex_Memvec_t *)remote, *const l = (const gex_Memvec_t *)local;
  if (GASNETT_PREDICT_FALSE(!peer)) return 0;
  if (remotes == 1 && locals == 1 && r->gex_len == l->gex_len) {
    return gasneti_vis_one(get, peer, r->gex_addr, l->gex_addr, r->gex_len);
  }
  if (remotes == locals && remotes != 0 && GASNETI_VIS_HERE(remotes, r->gex_len) &&
      gasneti_vis_pairs(get, peer, r, l, locals)) return 1;
  return gasneti_vis_near_v(get, peer, remotes, remote, locals, local);
}
GASNETT_INLINE(gasneti_vis_i_done)
int gasneti_vis_i_done(int get, const gasneti_peer_t *peer, size_t remotes, void *const *remote, size_t remote_len,
                       size_t locals, void *const *local, size_t local_len) {
  if (GASNETT_PREDICT_FALSE(!peer)) return 0;
  if (remotes == 1 && locals == 1 && remote_len == local_len) {
    return gasneti_vis_one(get, peer, *remote, *local, remote_len);
  }
  if (remotes == locals && remote_len == local_len && GASNETI_VIS_HERE(remotes, local_len)) {
    return gasneti_vis_few(get, peer, remote, local, local_len, locals);
  }
  return gasneti_vis_near_i(get, peer, remotes, remote, remote_len, locals, local, local_len);
}
GASNETT_INLINE(gasneti_vis_s_done)
int gasneti_vis_s_done(int get, const gasneti_peer_t *peer, const void *remote, const ptrdiff_t *remote_strides,
                       const void *local, const ptrdiff_t *local_strides, size_t elemsz, const size_t *count,
                       size_t levels) {
  size_t run = elemsz, runs, i, row;
  if (GASNETT_PREDICT_FALSE(!peer)) return 0;
  for (i = 0; i < levels; i++) {
    if (count[i] == 1) continue;
    if ((size_t)remote_strides[i] != run || (size_t)local_strides[i] != run || count[i] - 1 >= peer->near) break;
    if (__builtin_mul_overflow(run, count[i], &run)) break;
  }
  if (i == levels) return gasneti_vis_one(get, peer, remote, local, run);
  for (row = i++, runs = count[row]; i < levels && runs - 1 < GASNETI_VIS_FEW; i++) {
    if (count[i] == 1) continue;
    if ((size_t)remote_strides[i] != runs * (size_t)remote_strides[row]) break;
    if ((size_t)local_strides[i] != runs * (size_t)local_strides[row] || count[i] > GASNETI_VIS_FEW) break;
    runs *= count[i];
  }
  if (i == levels && runs - 1 < GASNETI_VIS_FEW) {
    return gasneti_vis_row(get, peer, remote, remote_strides[row], local, local_strides[row], run, runs);
  }
  return gasneti_vis_near_s(get, peer, remote, remote_strides, local, local_strides, elemsz, count, levels);
}

/* The form Blocking returns when all is done, NB returns an event, and NBI an int, which is 0. */
#define GASNETI_VIS_FORMS(name, params, near, call)                                                      \
  GASNETT_INLINE(gex_VIS_##name##Blocking)                                                               \
  int gex_VIS_##name##Blocking params { return near ? 0 : call(0) != GEX_EVENT_INVALID; }                \
  GASNETT_INLINE(gex_VIS_##name##NB)                                                                     \
  gex_Event_t gex_VIS_##name##NB params { return near ? GEX_EVENT_INVALID : call(2); }                   \
  GASNETT_INLINE(gex_VIS_##name##NBI)                                                                    \
  int gex_VIS_##name##NBI params { return near ? 0 : call(4) != GEX_EVENT_INVALID; }

#define GASNETI_VIS_CALL(how) gasneti_ex_vis_v(how, tm, dstrank, dstcount, dstlist, srccount, srclist, flags)
GASNETI_VIS_FORMS(VectorPut,
                  (gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount,
                   gex_Memvec_t const srclist[], gex_Flags_t flags),
                  gasneti_vis_v_done(0, gasneti_ex_vis_peer(tm, dstrank), dstcount, dstlist, srccount, srclist),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL
#define GASNETI_VIS_CALL(how) gasneti_ex_vis_v((how) | 1, tm, srcrank, srccount, srclist, dstcount, dstlist, flags)
GASNETI_VIS_FORMS(VectorGet,
                  (gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount,
                   gex_Memvec_t const srclist[], gex_Flags_t flags),
                  gasneti_vis_v_done(1, gasneti_ex_vis_peer(tm, srcrank), srccount, srclist, dstcount, dstlist),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL
#define GASNETI_VIS_CALL(how) \
  gasneti_ex_vis_i(how, tm, dstrank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags)
GASNETI_VIS_FORMS(IndexedPut,
                  (gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen,
                   size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags),
                  gasneti_vis_i_done(0, gasneti_ex_vis_peer(tm, dstrank), dstcount, dstlist, dstlen, srccount, srclist, srclen),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL
#define GASNETI_VIS_CALL(how) \
  gasneti_ex_vis_i((how) | 1, tm, srcrank, srccount, srclist, srclen, dstcount, dstlist, dstlen, flags)
GASNETI_VIS_FORMS(IndexedGet,
                  (gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank,
                   size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags),
                  gasneti_vis_i_done(1, gasneti_ex_vis_peer(tm, srcrank), srccount, srclist, srclen, dstcount, dstlist, dstlen),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL
/* elements of elemsz bytes, count[i] of them at distance strides[i], which may be negative */
#define GASNETI_VIS_CALL(how) \
  gasneti_ex_vis_s(how, tm, dstrank, dst, dststrides, src, srcstrides, elemsz, count, stridelevels, flags)
GASNETI_VIS_FORMS(StridedPut,
                  (gex_TM_t tm, gex_Rank_t dstrank, void *dst, const ptrdiff_t dststrides[], void *src,
                   const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels,
                   gex_Flags_t flags),
                  gasneti_vis_s_done(0, gasneti_ex_vis_peer(tm, dstrank), dst, dststrides, src, srcstrides, elemsz, count,
                                     stridelevels),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL
#define GASNETI_VIS_CALL(how) \
  gasneti_ex_vis_s((how) | 1, tm, srcrank, src, srcstrides, dst, dststrides, elemsz, count, stridelevels, flags)
GASNETI_VIS_FORMS(StridedGet,
                  (gex_TM_t tm, void *dst, const ptrdiff_t dststrides[], gex_Rank_t srcrank, void *src,
                   const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels,
                   gex_Flags_t flags),
                  gasneti_vis_s_done(1, gasneti_ex_vis_peer(tm, srcrank), src, srcstrides, dst, dststrides, elemsz, count,
                                     stridelevels),
                  GASNETI_VIS_CALL)
#undef GASNETI_VIS_CALL

/* Deprecated: the next gex_VIS_*Put* of this thread, when its data is there, runs a handler of its target, as if that
 * were sent a medium reply with this payload and no argument. Index 0 takes that back. */
#define GEX_VIS_MAX_PEERCOMPLETION 127
extern void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes,
                                             gex_Flags_t flags);

/* ---- GASNet-1: count[0] contiguous bytes, then stridelevels counts and distances --------------------------- */
/* remote side first; mode 0 blocking, 1 with a handle, 2 implicit */
extern gasnet_handle_t gasneti_vis_v(int get, int mode, gasnet_node_t node, size_t remotes,
                                     gasnet_memvec_t const *remote, size_t locals, gasnet_memvec_t const *local);
extern gasnet_handle_t gasneti_vis_i(int get, int mode, gasnet_node_t node, size_t remotes, void *const *remote,
                                     size_t remote_len, size_t locals, void *const *local, size_t local_len);
extern gasnet_handle_t gasneti_vis_s(int get, int mode, gasnet_node_t node, const void *remote,
                                     const size_t *remote_strides, const void *local, const size_t *local_strides,
                                     const size_t *count, size_t levels);
#define GASNETI_VIS1_V(get, mode, node, remotes, remote, locals, local)                                          \
  (gasneti_vis_v_done(get, gasneti_vis_peer(node), remotes, remote, locals, local)                               \
       ? GASNET_INVALID_HANDLE                                                                                   \
       : gasneti_vis_v(get, mode, node, remotes, remote, locals, local))
#define GASNETI_VIS1_I(get, mode, node, remotes, remote, rlen, locals, local, llen)                              \
  (gasneti_vis_i_done(get, gasneti_vis_peer(node), remotes, remote, rlen, locals, local, llen)                   \
       ? GASNET_INVALID_HANDLE                                                                                   \
       : gasneti_vis_i(get, mode, node, remotes, remote, rlen, locals, local, llen))
#define GASNETI_VIS1_S(get, mode, node, remote, rstrides, local, lstrides, count, levels)                        \
  (gasneti_vis_s_done(get, gasneti_vis_peer(node), remote, (const ptrdiff_t *)(rstrides), local,                 \
                      (const ptrdiff_t *)(lstrides), (count)[0], (count) + 1, levels)                            \
       ? GASNET_INVALID_HANDLE                                                                                   \
       : gasneti_vis_s(get, mode, node, remote, rstrides, local, lstrides, count, levels))

GASNETT_PLEASE_INLINE(gasnet_putv_bulk)
void gasnet_putv_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount,
                      gasnet_memvec_t const srclist[]) {
  (void)GASNETI_VIS1_V(0, 0, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_putv_nb_bulk)
gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[],
                                    size_t srccount, gasnet_memvec_t const srclist[]) {
  return GASNETI_VIS1_V(0, 1, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_putv_nbi_bulk)
void gasnet_putv_nbi_bulk(gasnet_node_t node, size_t dstcount, gasnet_memvec_t const dstlist[],
                          size_t srccount, gasnet_memvec_t const srclist[]) {
  (void)GASNETI_VIS1_V(0, 2, node, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_bulk)
void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node, size_t srccount,
                      gasnet_memvec_t const srclist[]) {
  (void)GASNETI_VIS1_V(1, 0, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_nb_bulk)
gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node,
                                    size_t srccount, gasnet_memvec_t const srclist[]) {
  return GASNETI_VIS1_V(1, 1, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_getv_nbi_bulk)
void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t node,
                          size_t srccount, gasnet_memvec_t const srclist[]) {
  (void)GASNETI_VIS1_V(1, 2, node, srccount, srclist, dstcount, dstlist);
}

GASNETT_PLEASE_INLINE(gasnet_puti_bulk)
void gasnet_puti_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                      size_t srccount, void *const srclist[], size_t srclen) {
  (void)GASNETI_VIS1_I(0, 0, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_puti_nb_bulk)
gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                                    size_t srccount, void *const srclist[], size_t srclen) {
  return GASNETI_VIS1_I(0, 1, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_puti_nbi_bulk)
void gasnet_puti_nbi_bulk(gasnet_node_t node, size_t dstcount, void *const dstlist[], size_t dstlen,
                          size_t srccount, void *const srclist[], size_t srclen) {
  (void)GASNETI_VIS1_I(0, 2, node, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_bulk)
void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                      size_t srccount, void *const srclist[], size_t srclen) {
  (void)GASNETI_VIS1_I(1, 0, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_nb_bulk)
gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                                    size_t srccount, void *const srclist[], size_t srclen) {
  return GASNETI_VIS1_I(1, 1, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_geti_nbi_bulk)
void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t node,
                          size_t srccount, void *const srclist[], size_t srclen) {
  (void)GASNETI_VIS1_I(1, 2, node, srccount, srclist, srclen, dstcount, dstlist, dstlen);
}

GASNETT_PLEASE_INLINE(gasnet_puts_bulk)
void gasnet_puts_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                      const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)GASNETI_VIS1_S(0, 0, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_puts_nb_bulk)
gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                                    const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  return GASNETI_VIS1_S(0, 1, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_puts_nbi_bulk)
void gasnet_puts_nbi_bulk(gasnet_node_t node, void *dst, const size_t dststrides[], const void *src,
                          const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)GASNETI_VIS1_S(0, 2, node, dst, dststrides, src, srcstrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_bulk)
void gasnet_gets_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                      const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)GASNETI_VIS1_S(1, 0, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_nb_bulk)
gasnet_handle_t gasnet_gets_nb_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                                    const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  return GASNETI_VIS1_S(1, 1, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

GASNETT_PLEASE_INLINE(gasnet_gets_nbi_bulk)
void gasnet_gets_nbi_bulk(void *dst, const size_t dststrides[], gasnet_node_t node, const void *src,
                          const size_t srcstrides[], const size_t count[], size_t stridelevels) {
  (void)GASNETI_VIS1_S(1, 2, node, src, srcstrides, dst, dststrides, count, stridelevels);
}

#undef GASNETI_VIS1_V
#undef GASNETI_VIS1_I
#undef GASNETI_VIS1_S

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

/* of gasnet_memvec_t or gex_Memvec_t, which have the same layout */
GASNETT_PLEASE_INLINE(gasnett_format_memveclist)
size_t gasnett_format_memveclist(char *buf, size_t count, const void *pieces) {
  gasnet_memvec_t const *const list = (gasnet_memvec_t const *)pieces;
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

/* gasnett_format_putsgets(buf, stats, node, dst, dststrides, src, srcstrides, count, levels) with GASNet-1's strides and
 * counts, or (buf, stats, tm, rank, dst, dststrides, src, srcstrides, elemsz, count, levels) with GASNet-EX's. stats takes no part. */
GASNETT_PLEASE_INLINE(gasneti_format_strides)
char *gasneti_format_strides(char *buf, size_t count, const ptrdiff_t *list) {
  size_t i;
  buf += sprintf(buf, " strides=[");
  for (i = 0; i < count; i++) buf += sprintf(buf, i ? ", %ld" : "%ld", (long)list[i]);
  return buf + sprintf(buf, "]");
}

GASNETT_PLEASE_INLINE(gasneti_format_box)
char *gasneti_format_box(char *buf, size_t total, gasnet_node_t node, const void *dst, const ptrdiff_t *dststrides,
                         const void *src, const ptrdiff_t *srcstrides, size_t levels) {
  buf += sprintf(buf, "%lu bytes, node %lu, to 0x%lx", (unsigned long)total, (unsigned long)node,
                 (unsigned long)(uintptr_t)dst);
  buf = gasneti_format_strides(buf, levels, dststrides);
  buf += sprintf(buf, ", from 0x%lx", (unsigned long)(uintptr_t)src);
  return gasneti_format_strides(buf, levels, srcstrides);
}

GASNETT_PLEASE_INLINE(gasneti_format_putsgets_9)
size_t gasneti_format_putsgets_9(char *buf, void *stats, gasnet_node_t node, const void *dst, const size_t *dststrides,
                                 const void *src, const size_t *srcstrides, const size_t *count, size_t levels) {
  size_t total = 1, i;
  (void)stats;
  for (i = 0; i <= levels; i++) total *= count[i];
  buf = gasneti_format_box(buf, total, node, dst, (const ptrdiff_t *)dststrides, src, (const ptrdiff_t *)srcstrides,
                           levels);
  (void)gasneti_format_sizes(buf, "count", levels + 1, count);
  return total;
}

GASNETT_PLEASE_INLINE(gasneti_format_putsgets_11)
size_t gasneti_format_putsgets_11(char *buf, void *stats, gex_TM_t tm, gex_Rank_t rank, const void *dst,
                                  const ptrdiff_t *dststrides, const void *src, const ptrdiff_t *srcstrides,
                                  size_t elemsz, const size_t *count, size_t levels) {
  size_t total = elemsz, i;
  (void)stats;
  (void)tm;
  for (i = 0; i < levels; i++) total *= count[i];
  buf = gasneti_format_box(buf, total, rank, dst, dststrides, src, srcstrides, levels);
  buf += sprintf(buf, " elements of %lu bytes,", (unsigned long)elemsz);
  (void)gasneti_format_sizes(buf, "count", levels, count);
  return total;
}
#define GASNETI_TWELFTH(a, b, c, d, e, f, g, h, i, j, k, form, ...) form
#define gasnett_format_putsgets(...)                                                                             \
  GASNETI_TWELFTH(__VA_ARGS__, gasneti_format_putsgets_11, gasneti_no_such_form, gasneti_format_putsgets_9,      \
                   gasneti_no_such_form, gasneti_no_such_form, gasneti_no_such_form, gasneti_no_such_form,        \
                   gasneti_no_such_form)(__VA_ARGS__)

/* distances alone: nothing is described, so nothing is returned */
GASNETT_PLEASE_INLINE(gasnett_format_strides_bufsz)
size_t gasnett_format_strides_bufsz(size_t count) {
  return 20 + 25 * count;
}

GASNETT_PLEASE_INLINE(gasnett_format_strides)
void gasnett_format_strides(char *buf, size_t count, const ptrdiff_t *list) {
  (void)gasneti_format_strides(buf, count, list);
}

GASNETT_PLEASE_INLINE(gasnett_format_putvgetv_bufsz)
size_t gasnett_format_putvgetv_bufsz(size_t dstcount, size_t srccount) {
  return 100 + gasnett_format_memveclist_bufsz(dstcount) + gasnett_format_memveclist_bufsz(srccount);
}

GASNETT_PLEASE_INLINE(gasnett_format_putigeti_bufsz)
size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount) {
  return 100 + gasnett_format_addrlist_bufsz(dstcount) + gasnett_format_addrlist_bufsz(srccount);
}

GASNETT_PLEASE_INLINE(gasneti_format_putvgetv_6)
size_t gasneti_format_putvgetv_6(char *buf, gasnet_node_t node, size_t dstcount, const void *dstlist, size_t srccount,
                                 const void *srclist) {
  size_t total;
  buf += sprintf(buf, "node %lu, to ", (unsigned long)node);
  total = gasnett_format_memveclist(buf, dstcount, dstlist);
  buf += strlen(buf);
  buf += sprintf(buf, ", from ");
  (void)gasnett_format_memveclist(buf, srccount, srclist);
  return total;
}

GASNETT_PLEASE_INLINE(gasneti_format_putvgetv_7)
size_t gasneti_format_putvgetv_7(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, const void *dstlist,
                                 size_t srccount, const void *srclist) {
  (void)tm;
  return gasneti_format_putvgetv_6(buf, rank, dstcount, dstlist, srccount, srclist);
}

GASNETT_PLEASE_INLINE(gasneti_format_putigeti_8)
size_t gasneti_format_putigeti_8(char *buf, gasnet_node_t node, size_t dstcount, void *const *dstlist, size_t dstlen,
                                 size_t srccount, void *const *srclist, size_t srclen) {
  size_t total;
  buf += sprintf(buf, "node %lu, to ", (unsigned long)node);
  total = gasnett_format_addrlist(buf, dstcount, dstlist, dstlen);
  buf += strlen(buf);
  buf += sprintf(buf, ", from ");
  (void)gasnett_format_addrlist(buf, srccount, srclist, srclen);
  return total;
}

GASNETT_PLEASE_INLINE(gasneti_format_putigeti_9)
size_t gasneti_format_putigeti_9(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, void *const *dstlist,
                                 size_t dstlen, size_t srccount, void *const *srclist, size_t srclen) {
  (void)tm;
  return gasneti_format_putigeti_8(buf, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

/* (buf, node, lists) as GASNet-1 has it, or (buf, tm, rank, lists) */
#define GASNETI_EIGHTH(a, b, c, d, e, f, g, form, ...) form
#define gasnett_format_putvgetv(...)                                                                            \
  GASNETI_EIGHTH(__VA_ARGS__, gasneti_format_putvgetv_7, gasneti_format_putvgetv_6, gasneti_no_such_form)(__VA_ARGS__)
#define GASNETI_TENTH(a, b, c, d, e, f, g, h, i, form, ...) form
#define gasnett_format_putigeti(...)                                                                             \
  GASNETI_TENTH(__VA_ARGS__, gasneti_format_putigeti_9, gasneti_format_putigeti_8, gasneti_no_such_form)(__VA_ARGS__)

GASNETT_END_EXTERNC

#endif
