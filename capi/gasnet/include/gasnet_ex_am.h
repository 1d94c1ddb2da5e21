/* Active messages of GASNet-EX: each call collects its arguments into an array and makes one library call.
 * Part of gasnetex.h; do not include it alone. */
#ifndef _GASNET_EX_AM_H
#define _GASNET_EX_AM_H

#include "gasnet_args.h"

GASNETT_BEGIN_EXTERNC

#define GASNETI_AM_SHORT 0
#define GASNETI_AM_MEDIUM 1
#define GASNETI_AM_LONG 2

extern int gasneti_ex_request(int kind, gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src,
                              size_t nbytes, void *dst, gex_Event_t *lc_opt, gex_Flags_t flags, int nargs,
                              const gex_AM_Arg_t *args);
extern int gasneti_ex_reply(int kind, gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                            void *dst, gex_Event_t *lc_opt, gex_Flags_t flags, int nargs, const gex_AM_Arg_t *args);
/* what a prepared message is for: the kind, and GASNETI_AM_IS_REPLY for a reply */
#define GASNETI_AM_IS_REPLY 4
extern int gasneti_ex_commit(int what, gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *dst,
                             gex_Flags_t flags, int nargs, const gex_AM_Arg_t *args);
extern int gasneti_ex_cancel(int what, gex_AM_SrcDesc_t sd, gex_Flags_t flags);

/* ---- limits ------------------------------------------------------------------------------------ */
GASNETT_INLINE(gex_AM_MaxArgs)
unsigned int gex_AM_MaxArgs(void) { return 16; }
extern size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                      gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                    gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
                                    gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                  unsigned int numargs);
extern size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                       unsigned int numargs);
extern size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                     unsigned int numargs);
extern size_t gex_AM_LUBRequestMedium(void);
extern size_t gex_AM_LUBReplyMedium(void);
extern size_t gex_AM_LUBRequestLong(void);
extern size_t gex_AM_LUBReplyLong(void);

/* ---- messages whose payload is made in a buffer that both sides agree on -------------------------- */
extern gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least,
                                                    size_t most, gex_Event_t *lc_opt, gex_Flags_t flags,
                                                    unsigned int numargs);
extern gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least,
                                                  size_t most, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags,
                                                  unsigned int numargs);
extern gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least, size_t most,
                                                  gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least, size_t most,
                                                void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags,
                                                unsigned int numargs);
extern void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd);
extern size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd);
GASNETT_INLINE(gex_AM_CancelRequestMedium)
int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  return gasneti_ex_cancel(GASNETI_AM_MEDIUM, sd, flags);
}
GASNETT_INLINE(gex_AM_CancelRequestLong)
int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  return gasneti_ex_cancel(GASNETI_AM_LONG, sd, flags);
}
GASNETT_INLINE(gex_AM_CancelReplyMedium)
int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  return gasneti_ex_cancel(GASNETI_AM_MEDIUM | GASNETI_AM_IS_REPLY, sd, flags);
}
GASNETT_INLINE(gex_AM_CancelReplyLong)
int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  return gasneti_ex_cancel(GASNETI_AM_LONG | GASNETI_AM_IS_REPLY, sd, flags);
}

/* ---- one function for each number of arguments; M: the number, P: its parameters, A: the array gasneti_a --- */
#define GASNETI_EX_FIXED(M, P, A) \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_RequestShort##M(gex_TM_t tm, gex_Rank_t rank, \
      gex_AM_Index_t handler, gex_Flags_t flags P) { A return gasneti_ex_request(GASNETI_AM_SHORT, tm, \
      rank, handler, NULL, 0, NULL, NULL, flags, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_RequestMedium##M(gex_TM_t tm, gex_Rank_t rank, \
      gex_AM_Index_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags P) { \
      A return gasneti_ex_request(GASNETI_AM_MEDIUM, tm, rank, handler, src, nbytes, NULL, lc_opt, flags, \
      M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_RequestLong##M(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t \
      handler, const void *src, size_t nbytes, void *dst, gex_Event_t *lc_opt, gex_Flags_t flags P) { A \
      return gasneti_ex_request(GASNETI_AM_LONG, tm, rank, handler, src, nbytes, dst, lc_opt, flags, M, \
      gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) void gex_AM_CommitRequestMedium##M(gex_AM_SrcDesc_t sd, gex_AM_Index_t \
      handler, size_t nbytes P) { A (void)gasneti_ex_commit(GASNETI_AM_MEDIUM, sd, handler, nbytes, NULL, \
      0, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_CommitRequestMedium##M##_v2(gex_AM_SrcDesc_t sd, \
      gex_AM_Index_t handler, size_t nbytes, gex_Flags_t flags P) { A return \
      gasneti_ex_commit(GASNETI_AM_MEDIUM, sd, handler, nbytes, NULL, flags, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) void gex_AM_CommitRequestLong##M(gex_AM_SrcDesc_t sd, gex_AM_Index_t \
      handler, size_t nbytes, void *dst P) { A (void)gasneti_ex_commit(GASNETI_AM_LONG, sd, handler, \
      nbytes, dst, 0, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_CommitRequestLong##M##_v2(gex_AM_SrcDesc_t sd, \
      gex_AM_Index_t handler, size_t nbytes, void *dst, gex_Flags_t flags P) { A return \
      gasneti_ex_commit(GASNETI_AM_LONG, sd, handler, nbytes, dst, flags, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_ReplyShort##M(gex_Token_t token, gex_AM_Index_t handler, \
      gex_Flags_t flags P) { A return gasneti_ex_reply(GASNETI_AM_SHORT, token, handler, NULL, 0, NULL, \
      NULL, flags, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_ReplyMedium##M(gex_Token_t token, gex_AM_Index_t handler, \
      const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags P) { A return \
      gasneti_ex_reply(GASNETI_AM_MEDIUM, token, handler, src, nbytes, NULL, lc_opt, flags, M, gasneti_a); \
      } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_ReplyLong##M(gex_Token_t token, gex_AM_Index_t handler, \
      const void *src, size_t nbytes, void *dst, gex_Event_t *lc_opt, gex_Flags_t flags P) { A return \
      gasneti_ex_reply(GASNETI_AM_LONG, token, handler, src, nbytes, dst, lc_opt, flags, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) void gex_AM_CommitReplyMedium##M(gex_AM_SrcDesc_t sd, gex_AM_Index_t \
      handler, size_t nbytes P) { A (void)gasneti_ex_commit(GASNETI_AM_MEDIUM | GASNETI_AM_IS_REPLY, sd, \
      handler, nbytes, NULL, 0, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_CommitReplyMedium##M##_v2(gex_AM_SrcDesc_t sd, \
      gex_AM_Index_t handler, size_t nbytes, gex_Flags_t flags P) { A return \
      gasneti_ex_commit(GASNETI_AM_MEDIUM | GASNETI_AM_IS_REPLY, sd, handler, nbytes, NULL, flags, M, \
      gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) void gex_AM_CommitReplyLong##M(gex_AM_SrcDesc_t sd, gex_AM_Index_t \
      handler, size_t nbytes, void *dst P) { A (void)gasneti_ex_commit(GASNETI_AM_LONG | \
      GASNETI_AM_IS_REPLY, sd, handler, nbytes, dst, 0, M, gasneti_a); } \
  GASNETT_PLEASE_INLINE(gex_AM) int gex_AM_CommitReplyLong##M##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t \
      handler, size_t nbytes, void *dst, gex_Flags_t flags P) { A return gasneti_ex_commit(GASNETI_AM_LONG \
      | GASNETI_AM_IS_REPLY, sd, handler, nbytes, dst, flags, M, gasneti_a); }
GASNETI_FOR_COUNTS(GASNETI_EX_FIXED)
#undef GASNETI_EX_FIXED

/* ---- the forms without a number in the name: the arguments are counted ------------------------------ */
#define GASNETI_EX_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, \
                        _21, _22, _23, _24, n, ...) n
#define GASNETI_EX_JOIN_(name, count, suffix) name##count##suffix
#define GASNETI_EX_JOIN(name, count, suffix) GASNETI_EX_JOIN_(name, count, suffix)
/* GASNETI_EX_COUNTn: arguments after the first n */
#define GASNETI_EX_COUNT3(...) \
  GASNETI_EX_PICK(__VA_ARGS__, _has_too_many_arguments, _has_too_many_arguments, \
  _has_too_many_arguments, _has_too_many_arguments, _has_too_many_arguments, 16, 15, 14, 13, 12, 11, \
  10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _has_too_few_arguments, _has_too_few_arguments, 0)
#define GASNETI_EX_COUNT4(...) \
  GASNETI_EX_PICK(__VA_ARGS__, _has_too_many_arguments, _has_too_many_arguments, \
  _has_too_many_arguments, _has_too_many_arguments, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, \
  2, 1, 0, _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, 0)
#define GASNETI_EX_COUNT5(...) \
  GASNETI_EX_PICK(__VA_ARGS__, _has_too_many_arguments, _has_too_many_arguments, \
  _has_too_many_arguments, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, \
  _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, 0)
#define GASNETI_EX_COUNT6(...) \
  GASNETI_EX_PICK(__VA_ARGS__, _has_too_many_arguments, _has_too_many_arguments, 16, 15, 14, 13, 12, \
  11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _has_too_few_arguments, _has_too_few_arguments, \
  _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, 0)
#define GASNETI_EX_COUNT7(...) \
  GASNETI_EX_PICK(__VA_ARGS__, _has_too_many_arguments, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, \
  3, 2, 1, 0, _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, \
  _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, 0)
#define GASNETI_EX_COUNT8(...) \
  GASNETI_EX_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, \
  _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, \
  _has_too_few_arguments, _has_too_few_arguments, _has_too_few_arguments, 0)
#define gex_AM_RequestShort(...) \
  GASNETI_EX_JOIN(gex_AM_RequestShort, GASNETI_EX_COUNT4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_RequestMedium(...) \
  GASNETI_EX_JOIN(gex_AM_RequestMedium, GASNETI_EX_COUNT7(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_RequestLong(...) \
  GASNETI_EX_JOIN(gex_AM_RequestLong, GASNETI_EX_COUNT8(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyShort(...) \
  GASNETI_EX_JOIN(gex_AM_ReplyShort, GASNETI_EX_COUNT3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyMedium(...) \
  GASNETI_EX_JOIN(gex_AM_ReplyMedium, GASNETI_EX_COUNT6(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyLong(...) \
  GASNETI_EX_JOIN(gex_AM_ReplyLong, GASNETI_EX_COUNT7(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestMedium(...) \
  GASNETI_EX_JOIN(gex_AM_CommitRequestMedium, GASNETI_EX_COUNT3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestMedium_v2(...) \
  GASNETI_EX_JOIN(gex_AM_CommitRequestMedium, GASNETI_EX_COUNT4(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitRequestLong(...) \
  GASNETI_EX_JOIN(gex_AM_CommitRequestLong, GASNETI_EX_COUNT4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestLong_v2(...) \
  GASNETI_EX_JOIN(gex_AM_CommitRequestLong, GASNETI_EX_COUNT5(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitReplyMedium(...) \
  GASNETI_EX_JOIN(gex_AM_CommitReplyMedium, GASNETI_EX_COUNT3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitReplyMedium_v2(...) \
  GASNETI_EX_JOIN(gex_AM_CommitReplyMedium, GASNETI_EX_COUNT4(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitReplyLong(...) \
  GASNETI_EX_JOIN(gex_AM_CommitReplyLong, GASNETI_EX_COUNT4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitReplyLong_v2(...) \
  GASNETI_EX_JOIN(gex_AM_CommitReplyLong, GASNETI_EX_COUNT5(__VA_ARGS__), _v2)(__VA_ARGS__)

GASNETT_END_EXTERNC

#endif
