/* Active messages: each call collects its arguments into an array and makes one library
 * call. Part of gasnet.h; do not include it alone. */
#ifndef _GASNET_AM_H
#define _GASNET_AM_H

#include "gasnet_ex_am.h"

#include <stdarg.h>

GASNETT_BEGIN_EXTERNC

#define GASNETI_AM_LONGASYNC 3

extern int gasneti_am_request(int kind, gasnet_node_t dest, gasnet_handler_t handler,
                              const void *src, size_t nbytes, void *dst, int nargs,
                              const gasnet_handlerarg_t *args);
extern int gasneti_am_reply(int kind, gasnet_token_t token, gasnet_handler_t handler,
                            const void *src, size_t nbytes, void *dst, int nargs,
                            const gasnet_handlerarg_t *args);
extern int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *src);
extern size_t gasnet_AMMaxArgs(void);
extern size_t gasnet_AMMaxMedium(void);
extern size_t gasnet_AMMaxLongRequest(void);
extern size_t gasnet_AMMaxLongReply(void);

/* M: number of arguments; P: their parameters; A: a definition of the array gasneti_a */
#define GASNETI_AM_FAMILY(M, P, A)                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMRequestShort##M)                                            \
  int gasnet_AMRequestShort##M(gasnet_node_t dest, gasnet_handler_t handler P) {             \
    A return gasneti_am_request(GASNETI_AM_SHORT, dest, handler, NULL, 0, NULL, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMRequestMedium##M)                                           \
  int gasnet_AMRequestMedium##M(gasnet_node_t dest, gasnet_handler_t handler,                \
                                const void *src, size_t nbytes P) {                          \
    A return gasneti_am_request(GASNETI_AM_MEDIUM, dest, handler, src, nbytes, NULL, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMRequestLong##M)                                             \
  int gasnet_AMRequestLong##M(gasnet_node_t dest, gasnet_handler_t handler,                  \
                              const void *src, size_t nbytes, void *dst P) {                 \
    A return gasneti_am_request(GASNETI_AM_LONG, dest, handler, src, nbytes, dst, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMRequestLongAsync##M)                                        \
  int gasnet_AMRequestLongAsync##M(gasnet_node_t dest, gasnet_handler_t handler,             \
                                   const void *src, size_t nbytes, void *dst P) {            \
    A return gasneti_am_request(GASNETI_AM_LONGASYNC, dest, handler, src, nbytes, dst, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMReplyShort##M)                                              \
  int gasnet_AMReplyShort##M(gasnet_token_t token, gasnet_handler_t handler P) {             \
    A return gasneti_am_reply(GASNETI_AM_SHORT, token, handler, NULL, 0, NULL, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMReplyMedium##M)                                             \
  int gasnet_AMReplyMedium##M(gasnet_token_t token, gasnet_handler_t handler,                \
                              const void *src, size_t nbytes P) {                            \
    A return gasneti_am_reply(GASNETI_AM_MEDIUM, token, handler, src, nbytes, NULL, M, gasneti_a); \
  }                                                                                          \
  GASNETT_PLEASE_INLINE(gasnet_AMReplyLong##M)                                               \
  int gasnet_AMReplyLong##M(gasnet_token_t token, gasnet_handler_t handler,                  \
                            const void *src, size_t nbytes, void *dst P) {                   \
    A return gasneti_am_reply(GASNETI_AM_LONG, token, handler, src, nbytes, dst, M, gasneti_a); \
  }

GASNETI_FOR_COUNTS(GASNETI_AM_FAMILY)
#undef GASNETI_AM_FAMILY

/* The forms without a count in the name take it as an argument. */
#define GASNETI_AM_COLLECT(last)                                          \
  gasnet_handlerarg_t gasneti_a[16];                                      \
  int gasneti_i;                                                          \
  va_list gasneti_ap;                                                     \
  va_start(gasneti_ap, last);                                             \
  for (gasneti_i = 0; gasneti_i < numargs && gasneti_i < 16; gasneti_i++) \
    gasneti_a[gasneti_i] = va_arg(gasneti_ap, gasnet_handlerarg_t);       \
  va_end(gasneti_ap);

GASNETT_PLEASE_INLINE(gasnet_AMRequestShort)
int gasnet_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_request(GASNETI_AM_SHORT, dest, handler, NULL, 0, NULL, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMRequestMedium)
int gasnet_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                           size_t nbytes, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_request(GASNETI_AM_MEDIUM, dest, handler, src, nbytes, NULL, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMRequestLong)
int gasnet_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                         size_t nbytes, void *dst, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_request(GASNETI_AM_LONG, dest, handler, src, nbytes, dst, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMRequestLongAsync)
int gasnet_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                              size_t nbytes, void *dst, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_request(GASNETI_AM_LONGASYNC, dest, handler, src, nbytes, dst, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMReplyShort)
int gasnet_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_reply(GASNETI_AM_SHORT, token, handler, NULL, 0, NULL, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMReplyMedium)
int gasnet_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                         size_t nbytes, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_reply(GASNETI_AM_MEDIUM, token, handler, src, nbytes, NULL, numargs, gasneti_a);
}
GASNETT_PLEASE_INLINE(gasnet_AMReplyLong)
int gasnet_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                       size_t nbytes, void *dst, int numargs, ...) {
  GASNETI_AM_COLLECT(numargs)
  return gasneti_am_reply(GASNETI_AM_LONG, token, handler, src, nbytes, dst, numargs, gasneti_a);
}
#undef GASNETI_AM_COLLECT

GASNETT_END_EXTERNC

#endif
