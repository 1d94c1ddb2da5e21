/* Active messages: each call collects its arguments into an array and makes one library
 * call. Part of gasnet.h; do not include it alone. */
#ifndef _GASNET_AM_H
#define _GASNET_AM_H

#include "gasnet_fwd.h"

#include <stdarg.h>

GASNETT_BEGIN_EXTERNC

#define GASNETI_AM_SHORT 0
#define GASNETI_AM_MEDIUM 1
#define GASNETI_AM_LONG 2
#define GASNETI_AM_LONGASYNC 3

extern int gasneti_am_request(int kind, gasnet_node_t dest, gasnet_handler_t handler,
                              const void *src, size_t nbytes, void *dst, int nargs,
                              const gasnet_handlerarg_t *args);
extern int gasneti_am_reply(int kind, gasnet_token_t token, gasnet_handler_t handler,
                            const void *src, size_t nbytes, void *dst, int nargs,
                            const gasnet_handlerarg_t *args);
extern int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *src);
extern int gasnet_AMPoll(void);
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

#define GASNETI_P0
#define GASNETI_P1 , gasnet_handlerarg_t gasneti_a0
#define GASNETI_P2 GASNETI_P1 , gasnet_handlerarg_t gasneti_a1
#define GASNETI_P3 GASNETI_P2 , gasnet_handlerarg_t gasneti_a2
#define GASNETI_P4 GASNETI_P3 , gasnet_handlerarg_t gasneti_a3
#define GASNETI_P5 GASNETI_P4 , gasnet_handlerarg_t gasneti_a4
#define GASNETI_P6 GASNETI_P5 , gasnet_handlerarg_t gasneti_a5
#define GASNETI_P7 GASNETI_P6 , gasnet_handlerarg_t gasneti_a6
#define GASNETI_P8 GASNETI_P7 , gasnet_handlerarg_t gasneti_a7
#define GASNETI_P9 GASNETI_P8 , gasnet_handlerarg_t gasneti_a8
#define GASNETI_P10 GASNETI_P9 , gasnet_handlerarg_t gasneti_a9
#define GASNETI_P11 GASNETI_P10 , gasnet_handlerarg_t gasneti_a10
#define GASNETI_P12 GASNETI_P11 , gasnet_handlerarg_t gasneti_a11
#define GASNETI_P13 GASNETI_P12 , gasnet_handlerarg_t gasneti_a12
#define GASNETI_P14 GASNETI_P13 , gasnet_handlerarg_t gasneti_a13
#define GASNETI_P15 GASNETI_P14 , gasnet_handlerarg_t gasneti_a14
#define GASNETI_P16 GASNETI_P15 , gasnet_handlerarg_t gasneti_a15
#define GASNETI_L1 gasneti_a0
#define GASNETI_L2 GASNETI_L1, gasneti_a1
#define GASNETI_L3 GASNETI_L2, gasneti_a2
#define GASNETI_L4 GASNETI_L3, gasneti_a3
#define GASNETI_L5 GASNETI_L4, gasneti_a4
#define GASNETI_L6 GASNETI_L5, gasneti_a5
#define GASNETI_L7 GASNETI_L6, gasneti_a6
#define GASNETI_L8 GASNETI_L7, gasneti_a7
#define GASNETI_L9 GASNETI_L8, gasneti_a8
#define GASNETI_L10 GASNETI_L9, gasneti_a9
#define GASNETI_L11 GASNETI_L10, gasneti_a10
#define GASNETI_L12 GASNETI_L11, gasneti_a11
#define GASNETI_L13 GASNETI_L12, gasneti_a12
#define GASNETI_L14 GASNETI_L13, gasneti_a13
#define GASNETI_L15 GASNETI_L14, gasneti_a14
#define GASNETI_L16 GASNETI_L15, gasneti_a15

#define GASNETI_ARRAY(M) const gasnet_handlerarg_t gasneti_a[M] = { GASNETI_PASTE(GASNETI_L, M) };
GASNETI_AM_FAMILY(0, GASNETI_P0, const gasnet_handlerarg_t *gasneti_a = NULL;)
GASNETI_AM_FAMILY(1, GASNETI_P1, GASNETI_ARRAY(1))
GASNETI_AM_FAMILY(2, GASNETI_P2, GASNETI_ARRAY(2))
GASNETI_AM_FAMILY(3, GASNETI_P3, GASNETI_ARRAY(3))
GASNETI_AM_FAMILY(4, GASNETI_P4, GASNETI_ARRAY(4))
GASNETI_AM_FAMILY(5, GASNETI_P5, GASNETI_ARRAY(5))
GASNETI_AM_FAMILY(6, GASNETI_P6, GASNETI_ARRAY(6))
GASNETI_AM_FAMILY(7, GASNETI_P7, GASNETI_ARRAY(7))
GASNETI_AM_FAMILY(8, GASNETI_P8, GASNETI_ARRAY(8))
GASNETI_AM_FAMILY(9, GASNETI_P9, GASNETI_ARRAY(9))
GASNETI_AM_FAMILY(10, GASNETI_P10, GASNETI_ARRAY(10))
GASNETI_AM_FAMILY(11, GASNETI_P11, GASNETI_ARRAY(11))
GASNETI_AM_FAMILY(12, GASNETI_P12, GASNETI_ARRAY(12))
GASNETI_AM_FAMILY(13, GASNETI_P13, GASNETI_ARRAY(13))
GASNETI_AM_FAMILY(14, GASNETI_P14, GASNETI_ARRAY(14))
GASNETI_AM_FAMILY(15, GASNETI_P15, GASNETI_ARRAY(15))
GASNETI_AM_FAMILY(16, GASNETI_P16, GASNETI_ARRAY(16))
#undef GASNETI_P0
#undef GASNETI_P1
#undef GASNETI_L1
#undef GASNETI_P2
#undef GASNETI_L2
#undef GASNETI_P3
#undef GASNETI_L3
#undef GASNETI_P4
#undef GASNETI_L4
#undef GASNETI_P5
#undef GASNETI_L5
#undef GASNETI_P6
#undef GASNETI_L6
#undef GASNETI_P7
#undef GASNETI_L7
#undef GASNETI_P8
#undef GASNETI_L8
#undef GASNETI_P9
#undef GASNETI_L9
#undef GASNETI_P10
#undef GASNETI_L10
#undef GASNETI_P11
#undef GASNETI_L11
#undef GASNETI_P12
#undef GASNETI_L12
#undef GASNETI_P13
#undef GASNETI_L13
#undef GASNETI_P14
#undef GASNETI_L14
#undef GASNETI_P15
#undef GASNETI_L15
#undef GASNETI_P16
#undef GASNETI_L16
#undef GASNETI_ARRAY
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
