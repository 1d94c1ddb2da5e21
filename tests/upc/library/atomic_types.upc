// Every atomic operation on every type, one thread at a time and all at once.
#include <upc_atomic.h>
#include <float.h>
#include <stdint.h>
#include "check.h"

/* Past the ends: whole numbers wrap, others stay what they are. */
#define ENDS_1(T)                                                                                                      \
    upc_atomic_relaxed(d, &old, UPC_INC, p, NULL, NULL); CHECK(old == most);                                            \
    upc_atomic_relaxed(d, &old, UPC_DEC, p, NULL, NULL); CHECK(old == least);                                           \
    a = least | 6; upc_atomic_relaxed(d, &old, UPC_XOR, p, &a, NULL); CHECK(old == most);                               \
    b = 9; a = (T)(most ^ (least | 6)); upc_atomic_relaxed(d, &old, UPC_CSWAP, p, &a, &b); CHECK(old == a);
#define ENDS_0(T)                                                                                                      \
    a = -2.5; upc_atomic_relaxed(d, &old, UPC_MULT, p, &a, NULL); CHECK(old == most);                                   \
    upc_atomic_relaxed(d, &old, UPC_GET, p, NULL, NULL); CHECK(old < -most);                                            \
    a = 9; upc_atomic_relaxed(d, NULL, UPC_SET, p, &a, NULL);                                                           \
    a = -0.75; upc_atomic_relaxed(d, &old, UPC_MULT, p, &a, NULL); CHECK(old == 9);                                     \
    a = 0.5; upc_atomic_relaxed(d, &old, UPC_SUB, p, &a, NULL); CHECK(old == (T)-6.75);                                 \
    upc_atomic_relaxed(d, &old, UPC_INC, p, NULL, NULL); CHECK(old == (T)-7.25);                                        \
    upc_atomic_relaxed(d, &old, UPC_GET, p, NULL, NULL); CHECK(old == (T)-6.25);
#define CHECK_TYPE(NAME, T, BITS, LEAST, MOST)                                                                         \
  static shared T cell_##NAME[THREADS];                                                                                \
  static void check_##NAME(void)                                                                                       \
  {                                                                                                                    \
    const upc_op_t ops = UPC_GET | UPC_SET | UPC_CSWAP | UPC_ADD | UPC_SUB | UPC_MULT | UPC_INC | UPC_DEC | UPC_MIN | UPC_MAX; \
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_##NAME, ops | (BITS ? UPC_AND | UPC_OR | UPC_XOR : 0), UPC_ATOMIC_HINT_THROUGHPUT); \
    shared T *p = &cell_##NAME[(MYTHREAD + 1) % THREADS];                                                               \
    T old = 0, a, b;                                                                                                   \
    a = 20; upc_atomic_relaxed(d, NULL, UPC_SET, p, &a, NULL);                                                          \
    a = 30; upc_atomic_relaxed(d, &old, UPC_SET, p, &a, NULL); CHECK(old == 20);                                        \
    a = 5; upc_atomic_strict(d, &old, UPC_ADD, p, &a, NULL); CHECK(old == 30);                                          \
    a = 3; upc_atomic_relaxed(d, &old, UPC_SUB, p, &a, NULL); CHECK(old == 35);                                         \
    a = 2; upc_atomic_relaxed(d, &old, UPC_MULT, p, &a, NULL); CHECK(old == 32);                                        \
    upc_atomic_relaxed(d, &old, UPC_INC, p, NULL, NULL); CHECK(old == 64);                                              \
    upc_atomic_strict(d, &old, UPC_DEC, p, NULL, NULL); CHECK(old == 65);                                               \
    a = 60; upc_atomic_relaxed(d, &old, UPC_MIN, p, &a, NULL); CHECK(old == 64);                                        \
    a = 61; upc_atomic_relaxed(d, &old, UPC_MAX, p, &a, NULL); CHECK(old == 60);                                        \
    a = 61; b = 7; upc_atomic_relaxed(d, &old, UPC_CSWAP, p, &a, &b); CHECK(old == 61);                                 \
    a = 61; b = 8; upc_atomic_strict(d, &old, UPC_CSWAP, p, &a, &b); CHECK(old == 7);                                   \
    upc_atomic_relaxed(d, &old, UPC_GET, p, NULL, NULL); CHECK(old == 7);                                               \
    if (BITS) {                                                                                                        \
      a = 12; upc_atomic_relaxed(d, &old, UPC_OR, p, &a, NULL); CHECK(old == 7);                                        \
      a = 9; upc_atomic_relaxed(d, &old, UPC_AND, p, &a, NULL); CHECK(old == 15);                                       \
      a = 5; upc_atomic_relaxed(d, &old, UPC_XOR, p, &a, NULL); CHECK(old == 9);                                        \
      upc_atomic_relaxed(d, &old, UPC_GET, p, NULL, NULL); CHECK(old == 12);                                            \
    }                                                                                                                  \
    /* the ends of the type, and beyond: order and wrapping are those of the type */                                   \
    const T least = LEAST, most = MOST;                                                                                \
    a = least; upc_atomic_relaxed(d, NULL, UPC_SET, p, &a, NULL);                                                       \
    a = most; upc_atomic_relaxed(d, &old, UPC_MAX, p, &a, NULL); CHECK(old == least);                                   \
    a = least; upc_atomic_relaxed(d, &old, UPC_MIN, p, &a, NULL); CHECK(old == most);                                   \
    a = 1; upc_atomic_relaxed(d, &old, UPC_MIN, p, &a, NULL); CHECK(old == least);                                      \
    upc_atomic_relaxed(d, &old, UPC_GET, p, NULL, NULL); CHECK(old == (least < 1 ? least : 1));                         \
    a = most; upc_atomic_relaxed(d, NULL, UPC_SET, p, &a, NULL);                                                        \
    ENDS_##BITS(T)                                                                                                     \
    a = 0; upc_atomic_relaxed(d, NULL, UPC_SET, p, &a, NULL);                                                           \
    upc_barrier;                                                                                                       \
    for (int i = 0; i < 40; i++) { a = 2; upc_atomic_relaxed(d, NULL, i % 2 ? UPC_ADD : UPC_INC, &cell_##NAME[0], i % 2 ? &a : NULL, NULL); } \
    upc_barrier;                                                                                                       \
    upc_atomic_relaxed(d, &old, UPC_GET, &cell_##NAME[0], NULL, NULL);                                                  \
    CHECK(old == (T)(60 * THREADS));                                                                                   \
    CHECK(upc_atomic_isfast(UPC_##NAME, ops, p) == 0 || upc_atomic_isfast(UPC_##NAME, ops, p) != 0);                    \
    CHECK(upc_atomic_isfast(UPC_##NAME, UPC_ADD, &cell_##NAME[MYTHREAD]));                                              \
    upc_all_atomicdomain_free(d);                                                                                      \
  }
CHECK_TYPE(INT, int, 1, INT32_MIN, INT32_MAX)
CHECK_TYPE(UINT, unsigned int, 1, 0, UINT32_MAX)
CHECK_TYPE(LONG, long, 1, INT64_MIN, INT64_MAX)
CHECK_TYPE(ULONG, unsigned long, 1, 0, UINT64_MAX)
CHECK_TYPE(INT32, int32_t, 1, INT32_MIN, INT32_MAX)
CHECK_TYPE(UINT32, uint32_t, 1, 0, UINT32_MAX)
CHECK_TYPE(INT64, int64_t, 1, INT64_MIN, INT64_MAX)
CHECK_TYPE(UINT64, uint64_t, 1, 0, UINT64_MAX)
CHECK_TYPE(FLOAT, float, 0, -FLT_MAX, FLT_MAX)
CHECK_TYPE(DOUBLE, double, 0, -DBL_MAX, DBL_MAX)

int main(void)
{
  check_INT();
  check_UINT();
  check_LONG();
  check_ULONG();
  check_INT32();
  check_UINT32();
  check_INT64();
  check_UINT64();
  check_FLOAT();
  check_DOUBLE();
  CHECK(UPC_ATOMIC_HINT_DEFAULT != UPC_ATOMIC_HINT_LATENCY && UPC_ATOMIC_HINT_LATENCY != UPC_ATOMIC_HINT_THROUGHPUT);
  upc_all_atomicdomain_free(NULL);
  CHECKED("accessors");
  CHECKED("bits");
  CHECKED("arithmetic");
  CHECKED("isfast");
  PASS();
}
