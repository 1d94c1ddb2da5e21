/* Collective operations over all nodes: what programs use to start up (broadcast, scatter,
 * gather, exchange). Every call blocks until its flags are met. Included by gasnet.h. */
#ifndef _GASNET_COLL_H
#define _GASNET_COLL_H

#include "gasnet.h"

GASNETT_BEGIN_EXTERNC

typedef struct gasneti_team *gasnet_team_handle_t;
typedef gasnet_team_handle_t gasnet_coll_team_t;
typedef uint32_t gasnet_image_t;
typedef gasnet_handle_t gasnet_coll_handle_t;
typedef struct {
  void (*fnptr)();
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

extern void gasneti_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
                                   const void *src, size_t nbytes, int flags);
extern void gasneti_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
                                 const void *src, size_t nbytes, int flags);
extern void gasneti_coll_gather(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
                                const void *src, size_t nbytes, int flags);
extern void gasneti_coll_gather_all(gasnet_team_handle_t team, void *dst, const void *src,
                                    size_t nbytes, int flags);
extern void gasneti_coll_exchange(gasnet_team_handle_t team, void *dst, const void *src,
                                  size_t nbytes, int flags);

GASNETT_PLEASE_INLINE(gasnet_coll_init)
void gasnet_coll_init(const gasnet_image_t *images, gasnet_image_t my_image,
                      gasnet_coll_fn_entry_t *fn_tbl, size_t fn_count, int init_flags) {
  (void)images;
  (void)my_image;
  (void)fn_tbl;
  (void)fn_count;
  (void)init_flags;
}
GASNETT_PLEASE_INLINE(gasnet_coll_broadcast)
void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                           const void *src, size_t nbytes, int flags) {
  gasneti_coll_broadcast(team, dst, srcimage, src, nbytes, flags);
}
/* block i of the root's buffer goes to rank i */
GASNETT_PLEASE_INLINE(gasnet_coll_scatter)
void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                         const void *src, size_t nbytes, int flags) {
  gasneti_coll_scatter(team, dst, srcimage, src, nbytes, flags);
}
GASNETT_PLEASE_INLINE(gasnet_coll_gather)
void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                        const void *src, size_t nbytes, int flags) {
  gasneti_coll_gather(team, dstimage, dst, src, nbytes, flags);
}
GASNETT_PLEASE_INLINE(gasnet_coll_gather_all)
void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, const void *src, size_t nbytes,
                            int flags) {
  gasneti_coll_gather_all(team, dst, src, nbytes, flags);
}
/* block j of rank i's buffer becomes block i of rank j's */
GASNETT_PLEASE_INLINE(gasnet_coll_exchange)
void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, const void *src, size_t nbytes,
                          int flags) {
  gasneti_coll_exchange(team, dst, src, nbytes, flags);
}

GASNETT_END_EXTERNC

#endif
