/* Atomic domains of GASNet-EX: operations on words of one type in the segments of a team. Completion of
 * an operation means that it is done; result pointers are written by then. Includes gasnetex.h. */
#ifndef _GASNET_RATOMIC_H
#define _GASNET_RATOMIC_H

#include "gasnetex.h"

GASNETT_BEGIN_EXTERNC

/* collective over the team, with the same type, operations and flags */
extern void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags);
extern void gex_AD_Destroy(gex_AD_t ad);
extern gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad);
extern gex_TM_t gex_AD_QueryTM(gex_AD_t ad);
extern gex_DT_t gex_AD_QueryDT(gex_AD_t ad);
extern gex_OP_t gex_AD_QueryOps(gex_AD_t ad);
extern void gex_AD_SetCData(gex_AD_t ad, const void *val);
extern void *gex_AD_QueryCData(gex_AD_t ad);

extern gex_Event_t gasneti_ad_op(gex_AD_t ad, gex_DT_t dt, int implicit, void *result, gex_Rank_t rank, void *addr,
                                 gex_OP_t op, uint64_t op1, uint64_t op2, gex_Flags_t flags);

GASNETT_INLINE(gasneti_ad_bits_I32)
uint64_t gasneti_ad_bits_I32(int32_t value) { return (uint32_t)value; }
GASNETT_INLINE(gasneti_ad_bits_U32)
uint64_t gasneti_ad_bits_U32(uint32_t value) { return value; }
GASNETT_INLINE(gasneti_ad_bits_I64)
uint64_t gasneti_ad_bits_I64(int64_t value) { return (uint64_t)value; }
GASNETT_INLINE(gasneti_ad_bits_U64)
uint64_t gasneti_ad_bits_U64(uint64_t value) { return value; }
GASNETT_INLINE(gasneti_ad_bits_FLT)
uint64_t gasneti_ad_bits_FLT(float value) {
  union { float value; uint32_t bits; } word;
  word.value = value;
  return word.bits;
}
GASNETT_INLINE(gasneti_ad_bits_DBL)
uint64_t gasneti_ad_bits_DBL(double value) {
  union { double value; uint64_t bits; } word;
  word.value = value;
  return word.bits;
}

/* ---- words that this process maps ---------------------------------------------------------------- */
/* An operation on one is done here, by the processor; everything else, and every mistake, goes to the library. */
struct gasneti_ad {
  gasneti_fixed_t kind;       /* GASNETI_AD_KIND of its type and all its operations */
  uint32_t same, other;       /* ranks of the team that are the same ranks of the job; all ranks, if they are others */
  const gex_Rank_t *jobranks; /* those others; both numbers are 0 if every call goes to the library */
};
struct _gex_ad_s {
  uint32_t gasneti_mark;
  void *gasneti_cdata;
  const struct gasneti_ad *gasneti_ad;
};
#define GASNETI_AD_KIND(dt, ops) ((gasneti_fixed_t)(ops) << 32 | (uint32_t)(dt))

typedef uint32_t __attribute__((__may_alias__)) gasneti_word32_t;
typedef uint64_t __attribute__((__may_alias__)) gasneti_word64_t;

/* Whether this process maps a word; *at is our address of it then. A locked instruction lets no later load begin before it
 * ends, so there are few, and the address of the word hangs on one of them: a destroyed domain has no value, type and
 * operations are compared together, a member of a team is a rank of the job, and an aligned word that begins in a segment
 * ends in it. */
GASNETT_INLINE(gasneti_ad_near)
int gasneti_ad_near(gex_AD_t ad, gex_DT_t dt, gex_Rank_t rank, void *addr, size_t width, gex_OP_t op,
                    gex_Flags_t flags, char **at) {
  const struct gasneti_ad *v;
  const gasneti_peer_t *peer;
  *at = NULL;
  if (GASNETT_PREDICT_FALSE(ad == GEX_AD_INVALID)) return 0;
  v = ad->gasneti_ad;
  if (GASNETT_PREDICT_FALSE(v == NULL || (v->kind & GASNETI_AD_KIND(0xffffffffu, op)) != GASNETI_AD_KIND(dt, op) ||
                            ((uintptr_t)addr & (width - 1)))) return 0;
  if (GASNETT_PREDICT_FALSE(rank >= v->same)) {
    if (rank >= v->other || (flags & GEX_FLAG_RANK_IS_JOBRANK)) return 0;
    rank = v->jobranks[rank];
  }
  peer = &gasneti_abi.peer[rank];
  *at = (char *)((uintptr_t)addr + (uintptr_t)gasneti_deltas.of[rank]);
  return GASNETT_PREDICT_TRUE((uintptr_t)addr - peer->base < peer->near);
}

/* Each does an operation on a word and returns whether there is such an operation. What it orders the flags say, which are
 * constants in most calls: an operation that orders nothing leaves the compiler what it knows of the domain and the peer. */
#define GASNETI_AD_LOOP(T, W, new_value)                                                                         \
  {                                                                                                              \
    W gasneti_seen = __atomic_load_n(w, __ATOMIC_RELAXED);                                                       \
    do {                                                                                                         \
      union { T value; W bits; } x, y;                                                                           \
      x.bits = gasneti_seen;                                                                                     \
      y.value = (T)(new_value);                                                                                  \
      next = y.bits;                                                                                             \
    } while (!__atomic_compare_exchange_n(w, &gasneti_seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));       \
    old = gasneti_seen;                                                                                          \
    break;                                                                                                       \
  }
#define GASNETI_AD_WORD(dt, T, W, arithmetic)                                                                    \
  GASNETT_INLINE(gasneti_ad_word_##dt)                                                                           \
  int gasneti_ad_word_##dt(void *at, T *result, gex_OP_t op, T a, T b, gex_Flags_t flags) {                      \
    volatile W *const w = (volatile W *)at;                                                                      \
    const W first = (W)gasneti_ad_bits_##dt(a);                                                                  \
    W old = 0, next;                                                                                             \
    gasneti_fence_pre((int)(flags & GEX_FLAG_AD_REL));                                                           \
    switch (op) {                                                                                                \
      case GEX_OP_SET: *w = first; break;                                                                        \
      case GEX_OP_GET: old = *w; break;                                                                          \
      case GEX_OP_SWAP: old = __atomic_exchange_n(w, first, __ATOMIC_RELAXED); break;                            \
      case GEX_OP_CAS:                                                                                           \
      case GEX_OP_FCAS:                                                                                          \
        old = first;                                                                                             \
        next = (W)gasneti_ad_bits_##dt(b);                                                                       \
        (void)__atomic_compare_exchange_n(w, &old, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                 \
        break;                                                                                                   \
      case GEX_OP_MULT: case GEX_OP_FMULT: GASNETI_AD_LOOP(T, W, GASNETI_AD_TIMES_##arithmetic(x.value, a, W))   \
      case GEX_OP_MIN: case GEX_OP_FMIN: GASNETI_AD_LOOP(T, W, a < x.value ? a : x.value)                        \
      case GEX_OP_MAX: case GEX_OP_FMAX: GASNETI_AD_LOOP(T, W, a > x.value ? a : x.value)                        \
      GASNETI_AD_##arithmetic(T, W)                                                                              \
      default: return 0;                                                                                         \
    }                                                                                                            \
    gasneti_fence_post((int)(flags & GEX_FLAG_AD_ACQ));                                                          \
    if (op >= GEX_OP_FAND && result != NULL) {                                                                   \
      union { T value; W bits; } was;                                                                            \
      was.bits = old;                                                                                            \
      *result = was.value;                                                                                       \
    }                                                                                                            \
    return 1;                                                                                                    \
  }
#define GASNETI_AD_TIMES_INTEGER(x, a, W) ((W)(x) * (W)(a))
#define GASNETI_AD_INTEGER(T, W)                                                                                 \
  case GEX_OP_ADD: case GEX_OP_FADD: old = __atomic_fetch_add(w, first, __ATOMIC_RELAXED); break;                \
  case GEX_OP_SUB: case GEX_OP_FSUB: old = __atomic_fetch_sub(w, first, __ATOMIC_RELAXED); break;                \
  case GEX_OP_INC: case GEX_OP_FINC: old = __atomic_fetch_add(w, (W)1, __ATOMIC_RELAXED); break;                 \
  case GEX_OP_DEC: case GEX_OP_FDEC: old = __atomic_fetch_sub(w, (W)1, __ATOMIC_RELAXED); break;                 \
  case GEX_OP_AND: case GEX_OP_FAND: old = __atomic_fetch_and(w, first, __ATOMIC_RELAXED); break;                \
  case GEX_OP_OR: case GEX_OP_FOR: old = __atomic_fetch_or(w, first, __ATOMIC_RELAXED); break;                   \
  case GEX_OP_XOR: case GEX_OP_FXOR: old = __atomic_fetch_xor(w, first, __ATOMIC_RELAXED); break;
#define GASNETI_AD_TIMES_FLOATING(x, a, W) ((x) * (a))
#define GASNETI_AD_FLOATING(T, W)                                                                                \
  case GEX_OP_ADD: case GEX_OP_FADD: GASNETI_AD_LOOP(T, W, x.value + a)                                          \
  case GEX_OP_SUB: case GEX_OP_FSUB: GASNETI_AD_LOOP(T, W, x.value - a)                                          \
  case GEX_OP_INC: case GEX_OP_FINC: GASNETI_AD_LOOP(T, W, x.value + 1)                                          \
  case GEX_OP_DEC: case GEX_OP_FDEC: GASNETI_AD_LOOP(T, W, x.value - 1)

/* gex_AD_OpNB_<type> returns an event, gex_AD_OpNBI_<type> an int that is not 0 if nothing was done */
#define GASNETI_AD_OPS(dt, T, W, arithmetic)                                                                     \
  GASNETI_AD_WORD(dt, T, W, arithmetic)                                                                          \
  GASNETT_INLINE(gex_AD_OpNB_##dt)                                                                               \
  gex_Event_t gex_AD_OpNB_##dt(gex_AD_t ad, T *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t opcode,   \
                               T operand1, T operand2, gex_Flags_t flags) {                                      \
    char *at;                                                                                                    \
    if (GASNETT_PREDICT_TRUE(gasneti_ad_near(ad, GEX_DT_##dt, tgt_rank, tgt_addr, sizeof(T), opcode, flags, &at) && \
                             gasneti_ad_word_##dt(at, result_p, opcode, operand1, operand2, flags)))             \
      return GEX_EVENT_INVALID;                                                                                  \
    return gasneti_ad_op(ad, GEX_DT_##dt, 0, result_p, tgt_rank, tgt_addr, opcode,                               \
                         gasneti_ad_bits_##dt(operand1), gasneti_ad_bits_##dt(operand2), flags);                 \
  }                                                                                                              \
  GASNETT_INLINE(gex_AD_OpNBI_##dt)                                                                              \
  int gex_AD_OpNBI_##dt(gex_AD_t ad, T *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t opcode,          \
                        T operand1, T operand2, gex_Flags_t flags) {                                             \
    char *at;                                                                                                    \
    if (GASNETT_PREDICT_TRUE(gasneti_ad_near(ad, GEX_DT_##dt, tgt_rank, tgt_addr, sizeof(T), opcode, flags, &at) && \
                             gasneti_ad_word_##dt(at, result_p, opcode, operand1, operand2, flags)))             \
      return 0;                                                                                                  \
    return gasneti_ad_op(ad, GEX_DT_##dt, 1, result_p, tgt_rank, tgt_addr, opcode,                               \
                         gasneti_ad_bits_##dt(operand1), gasneti_ad_bits_##dt(operand2), flags) != NULL;         \
  }
GASNETI_AD_OPS(I32, int32_t, gasneti_word32_t, INTEGER)
GASNETI_AD_OPS(U32, uint32_t, gasneti_word32_t, INTEGER)
GASNETI_AD_OPS(I64, int64_t, gasneti_word64_t, INTEGER)
GASNETI_AD_OPS(U64, uint64_t, gasneti_word64_t, INTEGER)
GASNETI_AD_OPS(FLT, float, gasneti_word32_t, FLOATING)
GASNETI_AD_OPS(DBL, double, gasneti_word64_t, FLOATING)

GASNETT_END_EXTERNC

#endif
