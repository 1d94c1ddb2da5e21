/* Teams and collective operations. An image is a thread that takes part in them; there is one in each
 * process, unless gasnet_coll_init is given an array of others: then as many threads call it, and each of
 * them calls every operation. Roots are numbers of images; images are numbered by team and member. In the
 * multi-address forms (names ending in M) lists have the addresses of all images with GASNET_COLL_SINGLE,
 * else those of the images of this process; an image uses its own address. With GASNET_COLL_NO_IMAGES one
 * thread of each process calls, and roots are members. All that is GASNet-1's (gasnet_coll_*); before it are
 * GASNet-EX's operations (gex_Coll_*). Includes gasnetex.h. */
#ifndef _GASNET_COLL_H
#define _GASNET_COLL_H

#include "gasnetex.h"

GASNETT_BEGIN_EXTERNC

/* ---- GASNet-EX: collective over a team; any number under way, started in the same order by all members ----- */
extern gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes,
                                        gex_Flags_t flags);
extern gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt,
                                          size_t dt_sz, size_t dt_cnt, gex_OP_t opcode,
                                          gex_Coll_ReduceFn_t user_fnptr, void *user_cdata, gex_Flags_t flags);
extern gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
                                          size_t dt_cnt, gex_OP_t opcode, gex_Coll_ReduceFn_t user_fnptr,
                                          void *user_cdata, gex_Flags_t flags);

/* ---- GASNet-1 ---------------------------------------------------------------------------------------------- */

typedef struct gasneti_team *gasnet_team_handle_t;
typedef gasnet_team_handle_t gasnet_coll_team_t;
typedef gasnet_team_handle_t gasnete_coll_team_t;
typedef uint32_t gasnet_image_t;
typedef gasnet_handle_t gasnet_coll_handle_t;
typedef gasnet_handlerarg_t gasnet_coll_fn_handle_t;

/* results[i] = left_operands[i] combined with right_operands[i]; results may be left_operands. The
 * function is called with as many left operands as there are results. */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count, const void *left_operands,
                                        size_t left_count, const void *right_operands,
                                        size_t elem_size, int flags, int arg);
typedef struct {
  gasnet_coll_reduce_fn_t fnptr;
  unsigned int flags;
} gasnet_coll_fn_entry_t;

#define GASNET_TEAM_ALL ((gasnet_team_handle_t)0)
#define GASNET_COLL_INVALID_HANDLE ((gasnet_coll_handle_t)0)

#define GASNET_COLL_IN_NOSYNC 1
#define GASNET_COLL_IN_MYSYNC 2
#define GASNET_COLL_IN_ALLSYNC 4
#define GASNET_COLL_OUT_NOSYNC 8
#define GASNET_COLL_OUT_MYSYNC 16
#define GASNET_COLL_OUT_ALLSYNC 32
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL (1 << 7)
#define GASNET_COLL_DST_IN_SEGMENT (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 11)
#define GASNET_COLL_DISABLE_AUTOTUNE (1 << 18)
#define GASNET_COLL_NO_IMAGES (1 << 19)
/* of a function: the order of its operands counts */
#define GASNET_COLL_NONCOMM 1

extern void gasneti_coll_init(const gasnet_image_t *images, gasnet_image_t image,
                              const gasnet_coll_fn_entry_t *functions, size_t n);
extern size_t gasneti_coll_image(gasnet_team_handle_t team, int flags);
extern gasnet_team_handle_t gasneti_coll_team_split(gasnet_team_handle_t parent, uint32_t color, uint32_t key);
extern gasnet_coll_handle_t gasneti_coll_move(int what, gasnet_team_handle_t team, gasnet_image_t root, void *dst,
                                              const void *src, size_t nbytes, int flags, int nb);
extern gasnet_coll_handle_t gasneti_coll_combine(int what, gasnet_team_handle_t team, gasnet_image_t root, void *dst,
                                                 const void *src, size_t elem_size, size_t elem_count, int func,
                                                 int func_arg, int flags, int nb);
extern gasnet_coll_handle_t gasneti_coll_move_v(int what, gasnet_team_handle_t team, gasnet_image_t root, void *dst,
                                                const size_t *dst_at, const size_t *dst_len, const void *src,
                                                const size_t *src_at, const size_t *src_len, size_t nbytes,
                                                int flags, int nb);
extern void gasneti_coll_wait_list(gasnet_coll_handle_t *handles, size_t n, int all);
extern int gasneti_coll_try_list(gasnet_coll_handle_t *handles, size_t n, int all);

/* every image calls it, with the same number of functions, before its first collective operation */
GASNETT_PLEASE_INLINE(gasnet_coll_init)
void gasnet_coll_init(const gasnet_image_t *images, gasnet_image_t my_image,
                      gasnet_coll_fn_entry_t *fn_tbl, size_t fn_count, int init_flags) {
  (void)init_flags;
  gasneti_coll_init(images, my_image, fn_tbl, fn_count);
}

/* ---- teams ------------------------------------------------------------------------------ */
/* members with the same color form a team, in the order of relrank; scratch memory is not needed. Every image
 * calls it, and gives the team up; those of a process give the same color and relrank. */
GASNETT_PLEASE_INLINE(gasnet_coll_team_split)
gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
                                            gasnet_node_t relrank, void *scratch) {
  (void)scratch;
  return gasneti_coll_team_split(parent, color, relrank);
}
extern void gasnet_coll_team_free(gasnet_team_handle_t team);
extern gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team);
extern gasnet_node_t gasnet_coll_team_rank(gasnet_team_handle_t team);
extern gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank);
extern gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node);
#define gasnete_coll_team_all GASNET_TEAM_ALL
#define gasnete_coll_team_size(team) gasnet_coll_team_size(team)
#define gasnete_coll_team_rank2node(team, rank) gasnet_coll_team_rank2node(team, rank)
#define gasnete_coll_team_node2rank(team, node) gasnet_coll_team_node2rank(team, node)

/* ---- the barrier of a team --------------------------------------------------------------- */
extern void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id);
GASNETT_PLEASE_INLINE(gasnet_coll_barrier)
int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) {
  gasnet_coll_barrier_notify(team, id, flags);
  return gasnet_coll_barrier_wait(team, id, flags);
}
#define gasnete_coll_barrier_notify(team, id, flags) gasnet_coll_barrier_notify(team, id, flags)
#define gasnete_coll_barrier_wait(team, id, flags) gasnet_coll_barrier_wait(team, id, flags)
#define gasnete_coll_barrier_try(team, id, flags) gasnet_coll_barrier_try(team, id, flags)

/* ---- handles ----------------------------------------------------------------------------- */
extern void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
extern int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
GASNETT_PLEASE_INLINE(gasnet_coll_wait_sync_all)
void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t n) { gasneti_coll_wait_list(handles, n, 1); }
GASNETT_PLEASE_INLINE(gasnet_coll_wait_sync_some)
void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t n) { gasneti_coll_wait_list(handles, n, 0); }
GASNETT_PLEASE_INLINE(gasnet_coll_try_sync_all)
int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t n) { return gasneti_coll_try_list(handles, n, 1); }
GASNETT_PLEASE_INLINE(gasnet_coll_try_sync_some)
int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t n) { return gasneti_coll_try_list(handles, n, 0); }

/* ---- tuning: algorithms are chosen by size and number of members, nothing is kept --------- */
typedef enum {
  GASNET_COLL_BROADCAST_OP, GASNET_COLL_BROADCASTM_OP, GASNET_COLL_SCATTER_OP, GASNET_COLL_SCATTERM_OP,
  GASNET_COLL_GATHER_OP, GASNET_COLL_GATHERM_OP, GASNET_COLL_GATHER_ALL_OP, GASNET_COLL_GATHER_ALLM_OP,
  GASNET_COLL_EXCHANGE_OP, GASNET_COLL_EXCHANGEM_OP, GASNET_COLL_REDUCE_OP, GASNET_COLL_REDUCEM_OP,
  GASNET_COLL_NUM_COLL_OPTYPES
} gasnet_coll_optype_t;
#define gasnet_coll_loadTuningState(filename, team) ((void)(filename), (void)(team))
#define gasnet_coll_dumpTuningState(filename, team) ((void)(filename), (void)(team))
#define gasnet_coll_dumpProfile(filename, team) ((void)(filename), (void)(team))
#define gasnet_coll_set_tree_kind(team, tree_type, fanout, optype) \
  ((void)(team), (void)(tree_type), (void)(fanout), (void)(optype))
#define gasnet_coll_set_dissem_limit(team, limit, optype) ((void)(team), (void)(limit), (void)(optype))
#define gasnet_coll_get_num_tree_classes(team, optype) ((void)(team), (void)(optype), 1)

/* ---- operations -------------------------------------------------------------------------- */
GASNETT_PLEASE_INLINE(gasneti_coll_pick)
void *gasneti_coll_pick(gasnet_team_handle_t team, void *const list[], int flags) {
  return list[gasneti_coll_image(team, flags)];
}

GASNETT_PLEASE_INLINE(gasnet_coll_broadcast)
void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, const void *src,
                           size_t nbytes, int flags) {
  (void)gasneti_coll_move(0, team, srcimage, dst, src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_broadcast_nb)
gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                            const void *src, size_t nbytes, int flags) {
  return gasneti_coll_move(0, team, srcimage, dst, src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_broadcastM)
void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage,
                            const void *src, size_t nbytes, int flags) {
  (void)gasneti_coll_move(0, team, srcimage, gasneti_coll_pick(team, dstlist, flags), src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_broadcastM_nb)
gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                            gasnet_image_t srcimage, const void *src, size_t nbytes,
                                            int flags) {
  return gasneti_coll_move(0, team, srcimage, gasneti_coll_pick(team, dstlist, flags), src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scatter)
void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, const void *src,
                         size_t nbytes, int flags) {
  (void)gasneti_coll_move(1, team, srcimage, dst, src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scatter_nb)
gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                            const void *src, size_t nbytes, int flags) {
  return gasneti_coll_move(1, team, srcimage, dst, src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scatterM)
void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage,
                          const void *src, size_t nbytes, int flags) {
  (void)gasneti_coll_move(1, team, srcimage, gasneti_coll_pick(team, dstlist, flags), src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scatterM_nb)
gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                            gasnet_image_t srcimage, const void *src, size_t nbytes,
                                            int flags) {
  return gasneti_coll_move(1, team, srcimage, gasneti_coll_pick(team, dstlist, flags), src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather)
void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, const void *src,
                        size_t nbytes, int flags) {
  (void)gasneti_coll_move(2, team, dstimage, dst, src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather_nb)
gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                           const void *src, size_t nbytes, int flags) {
  return gasneti_coll_move(2, team, dstimage, dst, src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gatherM)
void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
                         size_t nbytes, int flags) {
  (void)gasneti_coll_move(2, team, dstimage, dst, gasneti_coll_pick(team, srclist, flags), nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gatherM_nb)
gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                            void *const srclist[], size_t nbytes, int flags) {
  return gasneti_coll_move(2, team, dstimage, dst, gasneti_coll_pick(team, srclist, flags), nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather_all)
void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, const void *src, size_t nbytes, int flags) {
  (void)gasneti_coll_move(3, team, 0, dst, src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather_all_nb)
gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, const void *src,
                                            size_t nbytes, int flags) {
  return gasneti_coll_move(3, team, 0, dst, src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather_allM)
void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
                             size_t nbytes, int flags) {
  (void)gasneti_coll_move(3, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                          srclist, flags), nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_gather_allM_nb)
gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                            void *const srclist[], size_t nbytes, int flags) {
  return gasneti_coll_move(3, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                           srclist, flags), nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_exchange)
void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, const void *src, size_t nbytes, int flags) {
  (void)gasneti_coll_move(4, team, 0, dst, src, nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_exchange_nb)
gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, const void *src,
                                            size_t nbytes, int flags) {
  return gasneti_coll_move(4, team, 0, dst, src, nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_exchangeM)
void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
                           size_t nbytes, int flags) {
  (void)gasneti_coll_move(4, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                          srclist, flags), nbytes, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_exchangeM_nb)
gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                            void *const srclist[], size_t nbytes, int flags) {
  return gasneti_coll_move(4, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                           srclist, flags), nbytes, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_reduce)
void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, const void *src,
                        size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                        gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)src_blksz;
  (void)src_offset;
  (void)gasneti_coll_combine(0, team, dstimage, dst, src, elem_size, elem_count, func, func_arg, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_reduce_nb)
gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                           const void *src, size_t src_blksz, size_t src_offset,
                                           size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                                           int func_arg, int flags) {
  (void)src_blksz;
  (void)src_offset;
  return gasneti_coll_combine(0, team, dstimage, dst, src, elem_size, elem_count, func, func_arg, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_reduceM)
void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
                         size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                         gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)src_blksz;
  (void)src_offset;
  (void)gasneti_coll_combine(0, team, dstimage, dst, gasneti_coll_pick(team, srclist, flags), elem_size,
                             elem_count, func, func_arg, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_reduceM_nb)
gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                            void *const srclist[], size_t src_blksz, size_t src_offset,
                                            size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                                            int func_arg, int flags) {
  (void)src_blksz;
  (void)src_offset;
  return gasneti_coll_combine(0, team, dstimage, dst, gasneti_coll_pick(team, srclist, flags), elem_size,
                              elem_count, func, func_arg, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scan)
void gasnet_coll_scan(gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset,
                      const void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                      size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)dst_blksz;
  (void)dst_offset;
  (void)src_blksz;
  (void)src_offset;
  (void)gasneti_coll_combine(2, team, 0, dst, src, elem_size, elem_count, func, func_arg, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scan_nb)
gasnet_coll_handle_t gasnet_coll_scan_nb(gasnet_team_handle_t team, void *dst, size_t dst_blksz,
                                         size_t dst_offset, const void *src, size_t src_blksz,
                                         size_t src_offset, size_t elem_size, size_t elem_count,
                                         gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)dst_blksz;
  (void)dst_offset;
  (void)src_blksz;
  (void)src_offset;
  return gasneti_coll_combine(2, team, 0, dst, src, elem_size, elem_count, func, func_arg, flags, 1);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scanM)
void gasnet_coll_scanM(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz, size_t dst_offset,
                       void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size,
                       size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)dst_blksz;
  (void)dst_offset;
  (void)src_blksz;
  (void)src_offset;
  (void)gasneti_coll_combine(2, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                             srclist, flags), elem_size, elem_count, func, func_arg, flags, 0);
}

GASNETT_PLEASE_INLINE(gasnet_coll_scanM_nb)
gasnet_coll_handle_t gasnet_coll_scanM_nb(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz,
                                          size_t dst_offset, void *const srclist[], size_t src_blksz,
                                          size_t src_offset, size_t elem_size, size_t elem_count,
                                          gasnet_coll_fn_handle_t func, int func_arg, int flags) {
  (void)dst_blksz;
  (void)dst_offset;
  (void)src_blksz;
  (void)src_offset;
  return gasneti_coll_combine(2, team, 0, gasneti_coll_pick(team, dstlist, flags), gasneti_coll_pick(team,
                              srclist, flags), elem_size, elem_count, func, func_arg, flags, 1);
}

/* ---- ours: blocks that differ, and reductions to all ------------------------------------- */
/* block i is len[i] bytes at at[i] bytes from the buffer's start; lists count where their buffer does */
#define GASNETI_COLL_V(name, params, call)                                                            \
  GASNETT_PLEASE_INLINE(gasnet_coll_##name) void gasnet_coll_##name params { (void)call(0); }           \
  GASNETT_PLEASE_INLINE(gasnet_coll_##name##_nb)                                                      \
  gasnet_coll_handle_t gasnet_coll_##name##_nb params { return call(1); }

#define GASNETI_SCATTERV(nb) \
  gasneti_coll_move_v(1, team, srcimage, dst, NULL, NULL, src, src_at, src_len, nbytes, flags, nb)
GASNETI_COLL_V(scatterv,
               (gasnet_team_handle_t team, void *dst, size_t nbytes, gasnet_image_t srcimage, const void *src,
                const size_t src_at[], const size_t src_len[], int flags),
               GASNETI_SCATTERV)
#define GASNETI_GATHERV(nb) \
  gasneti_coll_move_v(2, team, dstimage, dst, dst_at, dst_len, src, NULL, NULL, nbytes, flags, nb)
GASNETI_COLL_V(gatherv,
               (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, const size_t dst_at[],
                const size_t dst_len[], const void *src, size_t nbytes, int flags),
               GASNETI_GATHERV)
#define GASNETI_GATHER_ALLV(nb) \
  gasneti_coll_move_v(3, team, 0, dst, dst_at, dst_len, src, NULL, NULL, 0, flags, nb)
GASNETI_COLL_V(gather_allv,
               (gasnet_team_handle_t team, void *dst, const size_t dst_at[], const size_t dst_len[],
                const void *src, int flags),
               GASNETI_GATHER_ALLV)
#define GASNETI_EXCHANGEV(nb) \
  gasneti_coll_move_v(4, team, 0, dst, dst_at, dst_len, src, src_at, src_len, 0, flags, nb)
GASNETI_COLL_V(exchangev,
               (gasnet_team_handle_t team, void *dst, const size_t dst_at[], const size_t dst_len[],
                const void *src, const size_t src_at[], const size_t src_len[], int flags),
               GASNETI_EXCHANGEV)
#define GASNETI_REDUCE_ALL(nb) \
  gasneti_coll_combine(1, team, 0, dst, src, elem_size, elem_count, func, func_arg, flags, nb)
GASNETI_COLL_V(reduce_all,
               (gasnet_team_handle_t team, void *dst, const void *src, size_t elem_size, size_t elem_count,
                gasnet_coll_fn_handle_t func, int func_arg, int flags),
               GASNETI_REDUCE_ALL)

GASNETT_END_EXTERNC

#endif
