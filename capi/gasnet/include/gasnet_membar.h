/* Memory barriers, spin hint, and the tools' atomic operations over the compiler's
 * __atomic builtins. An atomic operation has no ordering of its own: its flags argument
 * asks for fences before and after it. */
#ifndef _GASNET_MEMBAR_H
#define _GASNET_MEMBAR_H

#include "gasnet_basic.h"

#define gasnett_compiler_fence() __asm__ __volatile__("" : : : "memory")
#define gasnett_local_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define gasnett_local_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define gasnett_local_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define gasnett_weak_wmb() gasnett_local_wmb()
#define gasnett_weak_rmb() gasnett_local_rmb()
#define gasnett_weak_mb() gasnett_local_mb()
#define GASNETT_MEMBAR_CONFIG membars_native
#define GASNETI_MEMBAR_CONFIG membars_native

GASNETT_INLINE(gasnett_spinloop_hint)
void gasnett_spinloop_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield" : : : "memory");
#else
  gasnett_compiler_fence();
#endif
}

/* REL and ACQ have the values of GEX_FLAG_AD_REL and GEX_FLAG_AD_ACQ. */
#define GASNETT_ATOMIC_NONE 0
#define GASNETT_ATOMIC_RMB_PRE 0x01
#define GASNETT_ATOMIC_WMB_PRE 0x02
#define GASNETT_ATOMIC_MB_PRE 0x03
#define GASNETT_ATOMIC_RMB_POST 0x04
#define GASNETT_ATOMIC_WMB_POST 0x08
#define GASNETT_ATOMIC_MB_POST 0x0c
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE 0x10
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 0x20
#define GASNETT_ATOMIC_REL GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE GASNETT_ATOMIC_RMB_POST_IF_FALSE
#define GASNETI_ATOMIC_REL GASNETT_ATOMIC_REL
#define GASNETI_ATOMIC_ACQ GASNETT_ATOMIC_ACQ

GASNETT_INLINE(gasneti_fence_pre)
void gasneti_fence_pre(int flags) {
  if ((flags & 0x03) == 0x03) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  else if (flags & 0x02) __atomic_thread_fence(__ATOMIC_RELEASE);
  else if (flags & 0x01) __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
GASNETT_INLINE(gasneti_fence_post)
void gasneti_fence_post(int flags) {
  if ((flags & 0x0c) == 0x0c) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  else if (flags & 0x08) __atomic_thread_fence(__ATOMIC_RELEASE);
  else if (flags & 0x04) __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
GASNETT_INLINE(gasneti_fence_post_bool)
void gasneti_fence_post_bool(int flags, int result) {
  gasneti_fence_post(flags);
  if (result ? (flags & 0x10) : (flags & 0x20)) __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Clients cast int32_t*, float* and the like to these types: hence may_alias. */
typedef uint32_t __attribute__((__may_alias__)) gasneti_atomic_word32_t;
typedef uint64_t __attribute__((__may_alias__)) gasneti_atomic_word64_t;
typedef struct { volatile gasneti_atomic_word32_t gasneti_v; } gasnett_atomic32_t;
typedef struct { volatile gasneti_atomic_word64_t gasneti_v; } gasnett_atomic64_t;

#define GASNETI_ATOMIC_FAMILY(T, W)                                                       \
  GASNETT_INLINE(gasnett_##T##_read) W gasnett_##T##_read(const gasnett_##T##_t *p, int f) { \
    W v;                                                                                  \
    gasneti_fence_pre(f);                                                                 \
    v = __atomic_load_n(&p->gasneti_v, __ATOMIC_RELAXED);                                 \
    gasneti_fence_post(f);                                                                \
    return v;                                                                             \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_set) void gasnett_##T##_set(gasnett_##T##_t *p, W v, int f) { \
    gasneti_fence_pre(f);                                                                 \
    __atomic_store_n(&p->gasneti_v, v, __ATOMIC_RELAXED);                                 \
    gasneti_fence_post(f);                                                                \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_add) W gasnett_##T##_add(gasnett_##T##_t *p, W v, int f) { \
    W r;                                                                                  \
    gasneti_fence_pre(f);                                                                 \
    r = __atomic_add_fetch(&p->gasneti_v, v, __ATOMIC_RELAXED);                           \
    gasneti_fence_post(f);                                                                \
    return r;                                                                             \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_subtract) W gasnett_##T##_subtract(gasnett_##T##_t *p, W v, int f) { \
    W r;                                                                                  \
    gasneti_fence_pre(f);                                                                 \
    r = __atomic_sub_fetch(&p->gasneti_v, v, __ATOMIC_RELAXED);                           \
    gasneti_fence_post(f);                                                                \
    return r;                                                                             \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_increment) void gasnett_##T##_increment(gasnett_##T##_t *p, int f) { \
    (void)gasnett_##T##_add(p, 1, f);                                                     \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_decrement) void gasnett_##T##_decrement(gasnett_##T##_t *p, int f) { \
    (void)gasnett_##T##_subtract(p, 1, f);                                                \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_decrement_and_test)                                        \
  int gasnett_##T##_decrement_and_test(gasnett_##T##_t *p, int f) {                       \
    int z;                                                                                \
    gasneti_fence_pre(f);                                                                 \
    z = __atomic_sub_fetch(&p->gasneti_v, 1, __ATOMIC_RELAXED) == 0;                      \
    gasneti_fence_post_bool(f, z);                                                        \
    return z;                                                                             \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_swap) W gasnett_##T##_swap(gasnett_##T##_t *p, W v, int f) { \
    W r;                                                                                  \
    gasneti_fence_pre(f);                                                                 \
    r = __atomic_exchange_n(&p->gasneti_v, v, __ATOMIC_RELAXED);                          \
    gasneti_fence_post(f);                                                                \
    return r;                                                                             \
  }                                                                                       \
  GASNETT_INLINE(gasnett_##T##_compare_and_swap)                                          \
  int gasnett_##T##_compare_and_swap(gasnett_##T##_t *p, W o, W n, int f) {               \
    int ok;                                                                               \
    gasneti_atomic_w_##T e = o;                                                           \
    gasneti_fence_pre(f);                                                                 \
    ok = __atomic_compare_exchange_n(&p->gasneti_v, &e, n, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    gasneti_fence_post_bool(f, ok);                                                       \
    return ok;                                                                            \
  }
typedef gasneti_atomic_word32_t gasneti_atomic_w_atomic32;
typedef gasneti_atomic_word64_t gasneti_atomic_w_atomic64;
GASNETI_ATOMIC_FAMILY(atomic32, uint32_t)
GASNETI_ATOMIC_FAMILY(atomic64, uint64_t)
#undef GASNETI_ATOMIC_FAMILY
#define gasnett_atomic32_init(v) { (uint32_t)(v) }
#define gasnett_atomic64_init(v) { (uint64_t)(v) }

/* The plain type is the 32-bit one. */
#define gasnett_atomic_t gasnett_atomic32_t
#define gasnett_atomic_val_t uint32_t
#define gasnett_atomic_sval_t int32_t
#define GASNETT_ATOMIC_MAX ((gasnett_atomic_val_t)0xFFFFFFFFU)
#define GASNETT_ATOMIC_SIGNED_MIN ((gasnett_atomic_sval_t)(-2147483647 - 1))
#define GASNETT_ATOMIC_SIGNED_MAX ((gasnett_atomic_sval_t)2147483647)
#define gasnett_atomic_signed(v) ((gasnett_atomic_sval_t)(v))
#define GASNETT_HAVE_ATOMIC_CAS 1
#define GASNETT_HAVE_ATOMIC_ADD_SUB 1
#define gasnett_atomic_init(v) gasnett_atomic32_init(v)
#define gasnett_atomic_read(p, f) gasnett_atomic32_read(p, f)
#define gasnett_atomic_set(p, v, f) gasnett_atomic32_set(p, v, f)
#define gasnett_atomic_add(p, v, f) gasnett_atomic32_add(p, v, f)
#define gasnett_atomic_subtract(p, v, f) gasnett_atomic32_subtract(p, v, f)
#define gasnett_atomic_increment(p, f) gasnett_atomic32_increment(p, f)
#define gasnett_atomic_decrement(p, f) gasnett_atomic32_decrement(p, f)
#define gasnett_atomic_decrement_and_test(p, f) gasnett_atomic32_decrement_and_test(p, f)
#define gasnett_atomic_swap(p, v, f) gasnett_atomic32_swap(p, v, f)
#define gasnett_atomic_compare_and_swap(p, o, n, f) gasnett_atomic32_compare_and_swap(p, o, n, f)

/* Ours are always real atomics, so the strong and weak families are the same. */
#define GASNETT_HAVE_STRONGATOMIC_CAS 1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1
#define gasnett_strongatomic_t gasnett_atomic_t
#define gasnett_strongatomic_init(v) gasnett_atomic_init(v)
#define gasnett_strongatomic_read(p, f) gasnett_atomic_read(p, f)
#define gasnett_strongatomic_set(p, v, f) gasnett_atomic_set(p, v, f)
#define gasnett_strongatomic_add(p, v, f) gasnett_atomic_add(p, v, f)
#define gasnett_strongatomic_subtract(p, v, f) gasnett_atomic_subtract(p, v, f)
#define gasnett_strongatomic_increment(p, f) gasnett_atomic_increment(p, f)
#define gasnett_strongatomic_decrement(p, f) gasnett_atomic_decrement(p, f)
#define gasnett_strongatomic_decrement_and_test(p, f) gasnett_atomic_decrement_and_test(p, f)
#define gasnett_strongatomic_swap(p, v, f) gasnett_atomic_swap(p, v, f)
#define gasnett_strongatomic_compare_and_swap(p, o, n, f) gasnett_atomic_compare_and_swap(p, o, n, f)
#define gasnett_strongatomic32_t gasnett_atomic32_t
#define gasnett_strongatomic32_init(v) gasnett_atomic32_init(v)
#define gasnett_strongatomic32_read(p, f) gasnett_atomic32_read(p, f)
#define gasnett_strongatomic32_set(p, v, f) gasnett_atomic32_set(p, v, f)
#define gasnett_strongatomic32_add(p, v, f) gasnett_atomic32_add(p, v, f)
#define gasnett_strongatomic32_subtract(p, v, f) gasnett_atomic32_subtract(p, v, f)
#define gasnett_strongatomic32_increment(p, f) gasnett_atomic32_increment(p, f)
#define gasnett_strongatomic32_decrement(p, f) gasnett_atomic32_decrement(p, f)
#define gasnett_strongatomic32_decrement_and_test(p, f) gasnett_atomic32_decrement_and_test(p, f)
#define gasnett_strongatomic32_swap(p, v, f) gasnett_atomic32_swap(p, v, f)
#define gasnett_strongatomic32_compare_and_swap(p, o, n, f) \
  gasnett_atomic32_compare_and_swap(p, o, n, f)
#define gasnett_strongatomic64_t gasnett_atomic64_t
#define gasnett_strongatomic64_init(v) gasnett_atomic64_init(v)
#define gasnett_strongatomic64_read(p, f) gasnett_atomic64_read(p, f)
#define gasnett_strongatomic64_set(p, v, f) gasnett_atomic64_set(p, v, f)
#define gasnett_strongatomic64_add(p, v, f) gasnett_atomic64_add(p, v, f)
#define gasnett_strongatomic64_subtract(p, v, f) gasnett_atomic64_subtract(p, v, f)
#define gasnett_strongatomic64_increment(p, f) gasnett_atomic64_increment(p, f)
#define gasnett_strongatomic64_decrement(p, f) gasnett_atomic64_decrement(p, f)
#define gasnett_strongatomic64_decrement_and_test(p, f) gasnett_atomic64_decrement_and_test(p, f)
#define gasnett_strongatomic64_swap(p, v, f) gasnett_atomic64_swap(p, v, f)
#define gasnett_strongatomic64_compare_and_swap(p, o, n, f) \
  gasnett_atomic64_compare_and_swap(p, o, n, f)
#define GASNETT_ATOMIC_CONFIG atomics_native
#define GASNETT_ATOMIC32_CONFIG atomic32_native
#define GASNETT_ATOMIC64_CONFIG atomic64_native

#endif
