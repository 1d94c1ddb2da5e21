/* Put, get, events and implicit operations of GASNet-EX. A transfer to memory that this process maps is done here, inline;
 * everything else, and every mistake, goes to the library. Part of gasnetex.h; do not include it alone. */
#ifndef _GASNET_EX_RMA_H
#define _GASNET_EX_RMA_H

#include "gasnet_near.h"

GASNETT_BEGIN_EXTERNC

extern int gasneti_ex_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags);
extern int gasneti_ex_get(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags);
extern gex_Event_t gasneti_ex_put_nb(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                                     gex_Event_t *lc_opt, gex_Flags_t flags);
extern gex_Event_t gasneti_ex_get_nb(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
                                     gex_Flags_t flags);
extern int gasneti_ex_put_nbi(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                              gex_Event_t *lc_opt, gex_Flags_t flags);
extern int gasneti_ex_get_nbi(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
                              gex_Flags_t flags);
extern int gasneti_event_test(gex_Event_t event);
extern void gasneti_event_wait(gex_Event_t event);

/* ---- events ------------------------------------------------------------------------------------ */
/* What was complete when it was started, as all to mapped memory is, costs a comparison. */
GASNETT_INLINE(gex_Event_Test)
int gex_Event_Test(gex_Event_t event) {
  if (GASNETT_PREDICT_FALSE(event != GEX_EVENT_INVALID)) return gasneti_event_test(event);
  gasneti_complete();
  return GASNET_OK;
}
GASNETT_INLINE(gex_Event_Wait)
void gex_Event_Wait(gex_Event_t event) {
  if (GASNETT_PREDICT_FALSE(event != GEX_EVENT_INVALID)) gasneti_event_wait(event);
  else gasneti_complete();
}
extern int gex_Event_TestSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern int gex_Event_TestAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern void gex_Event_WaitSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern void gex_Event_WaitAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category);

/* ---- implicit operations of this thread ---------------------------------------------------------- */
extern int gex_NBI_Test(gex_EC_t categories, gex_Flags_t flags);
extern void gex_NBI_Wait(gex_EC_t categories, gex_Flags_t flags);
extern void gex_NBI_BeginAccessRegion(gex_Flags_t flags);
extern gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);

/* ---- put and get ----------------------------------------------------------------------------------- */
/* gasneti_maps for a rank of the team of all ranks, or of the pair of endpoints 0. Whether the team has such a rank is not
 * asked; under the rule checks inline code knows no team. On one host it is not asked either whether a rank is near. */
GASNETT_INLINE(gasneti_ex_maps)
int gasneti_ex_maps(gex_TM_t tm, gex_Rank_t rank, const void *p, char **at) {
  if (GASNETT_PREDICT_TRUE(tm == gasneti_abi.mapped)) {
    *at = (char *)((uintptr_t)p + (uintptr_t)gasneti_deltas.of[rank]);
    return 1;
  }
  if (tm == gasneti_abi.tm) return gasneti_maps_known(rank, p, at);
  *at = NULL;
  return (uintptr_t)tm == 1 && gasneti_maps(rank, p, at);
}
GASNETT_INLINE(gex_RMA_PutBlocking)
int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags) {
  char *to;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, dest, &to))) return gasneti_ex_put(tm, rank, dest, src, nbytes, flags);
  gasneti_copy(to, src, nbytes);
  return 0;
}
GASNETT_INLINE(gex_RMA_GetBlocking)
int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
  char *from;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, src, &from))) return gasneti_ex_get(tm, dest, rank, src, nbytes, flags);
  gasneti_copy(dest, from, nbytes);
  return 0;
}
GASNETT_INLINE(gex_RMA_PutNB)
gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                          gex_Event_t *lc_opt, gex_Flags_t flags) {
  char *to;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, dest, &to))) return gasneti_ex_put_nb(tm, rank, dest, src, nbytes, lc_opt, flags);
  gasneti_copy(to, src, nbytes);
  if (lc_opt > GEX_EVENT_GROUP) *lc_opt = GEX_EVENT_INVALID;
  return GEX_EVENT_INVALID;
}
GASNETT_INLINE(gex_RMA_GetNB)
gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
                          gex_Flags_t flags) {
  char *from;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, src, &from))) return gasneti_ex_get_nb(tm, dest, rank, src, nbytes, flags);
  gasneti_copy(dest, from, nbytes);
  return GEX_EVENT_INVALID;
}
GASNETT_INLINE(gex_RMA_PutNBI)
int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt,
                   gex_Flags_t flags) {
  char *to;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, dest, &to))) return gasneti_ex_put_nbi(tm, rank, dest, src, nbytes, lc_opt, flags);
  gasneti_copy(to, src, nbytes);
  return 0;
}
GASNETT_INLINE(gex_RMA_GetNBI)
int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
  char *from;
  if (GASNETT_PREDICT_FALSE(!gasneti_ex_maps(tm, rank, src, &from))) return gasneti_ex_get_nbi(tm, dest, rank, src, nbytes, flags);
  gasneti_copy(dest, from, nbytes);
  return 0;
}

/* ---- values: the low-order nbytes of a register --------------------------------------------------------- */
GASNETT_INLINE(gex_RMA_PutBlockingVal)
int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
                           gex_Flags_t flags) {
  return gex_RMA_PutBlocking(tm, rank, dest, gasneti_value_bytes(&value, nbytes), nbytes, flags);
}
GASNETT_INLINE(gex_RMA_PutNBVal)
gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
                             gex_Flags_t flags) {
  return gex_RMA_PutNB(tm, rank, dest, gasneti_value_bytes(&value, nbytes), nbytes, GEX_EVENT_NOW, flags);
}
GASNETT_INLINE(gex_RMA_PutNBIVal)
int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
                      gex_Flags_t flags) {
  return gex_RMA_PutNBI(tm, rank, dest, gasneti_value_bytes(&value, nbytes), nbytes, GEX_EVENT_NOW, flags);
}
/* a get of a value always gets it */
GASNETT_INLINE(gex_RMA_GetBlockingVal)
gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes,
                                       gex_Flags_t flags) {
  gex_RMA_Value_t value = 0;
  (void)gex_RMA_GetBlocking(tm, (char *)gasneti_value_bytes(&value, nbytes), rank, src, nbytes,
                            flags & ~GEX_FLAG_IMMEDIATE);
  return value;
}

GASNETT_END_EXTERNC

#endif
