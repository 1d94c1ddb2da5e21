// Reductions of all types against loops: results, prefixes, results for all; any block size, few elements, any first thread and phase, all flags.
#include <upc_collective.h>
#include <string.h>
#include "check.h"

enum { MOST = 60 };
static unsigned long seed = 99;
static unsigned next(unsigned n)   /* the same numbers on all threads */
{
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(seed >> 40) % n;
}
static upc_flag_t any_flags(void)
{
  static const upc_flag_t in[] = { 0, UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC }, out[] = { 0, UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC };
  const upc_flag_t i = in[next(4)];
  return i | out[next(4)];
}

/* cyclic arrays of bytes, used with any block size through bupc_ptradd */
#define DEFINE(X, T, BITS)                                                                                             \
  static T first_##X(T a, T b) { return a != 0 ? a : b; }  /* does not commute */                                       \
  static T more_##X(T a, T b) { return a < b ? b : a; }                                                                 \
  static T op_##X(upc_op_t op, T a, T b)                                                                               \
  {                                                                                                                    \
    switch (op) {                                                                                                      \
    case UPC_ADD: return a + b;                                                                                        \
    case UPC_MULT: return a * b;                                                                                       \
    BITS(a, b)                                                                                                         \
    case UPC_LOGAND: return a && b;                                                                                    \
    case UPC_LOGOR: return a || b;                                                                                     \
    case UPC_MIN: return a < b ? a : b;                                                                                \
    case UPC_MAX: case UPC_FUNC: return a > b ? a : b;                                                                 \
    default: return first_##X(a, b);                                                                                   \
    }                                                                                                                  \
  }                                                                                                                    \
  static void check_##X(void)                                                                                          \
  {                                                                                                                    \
    static const upc_op_t ops[] = { UPC_ADD, UPC_MULT, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX, UPC_FUNC,               \
                                    UPC_NONCOMM_FUNC, UPC_AND, UPC_OR, UPC_XOR };                                       \
    const int kinds = op_##X(UPC_XOR, 1, 1) == 0 ? 11 : 8;                                                              \
    shared char *store = upc_all_alloc(THREADS, (2 * MOST + 4) * sizeof(T));                                            \
    shared char *results = upc_all_alloc(THREADS, (2 * MOST + 4) * sizeof(T));                                          \
    for (int round = 0; round < 12; round++) {                                                                         \
      const size_t n = 1 + next(MOST), b = next(6) == 0 ? 0 : 1 + next(9), skip = next(b ? 2 * (unsigned)b : 3);         \
      const upc_op_t op = ops[round < kinds ? round : (int)next((unsigned)kinds)];                                      \
      const int root = (int)next((unsigned)THREADS);                                                                   \
      shared void *src = bupc_ptradd(store, b, sizeof(T), (ptrdiff_t)skip);                                             \
      const size_t other = next(3) ? skip : next(b ? 2 * (unsigned)b : 3);   /* laid out like the source, or not */         \
      shared void *dst = bupc_ptradd(results, b, sizeof(T), (ptrdiff_t)other), *one = bupc_ptradd(results, 1, 1, root);   \
      T all[MOST], want, got;                                                                                          \
      one = bupc_ptradd(results, 1, (2 * MOST + 4) * sizeof(T), root);                                                  \
      for (size_t i = 0; i < n; i++) all[i] = (T)(op == UPC_MULT ? 1 + (next(9) == 0) : op == UPC_NONCOMM_FUNC ? next(4) / 3 * (i + 1) : next(7)); \
      upc_barrier;                                                                                                     \
      for (size_t i = 0; i < n; i++) {                                                                                 \
        shared void *p = bupc_ptradd(src, b, sizeof(T), (ptrdiff_t)i);                                                  \
        if (upc_threadof(p) == (size_t)MYTHREAD) upc_memput(p, &all[i], sizeof(T));                                     \
      }                                                                                                                \
      want = all[0];                                                                                                   \
      for (size_t i = 1; i < n; i++) want = op_##X(op, want, all[i]);                                                   \
      upc_barrier;                                                                                                     \
      upc_all_reduce##X(one, src, op, n, b, op == UPC_FUNC ? more_##X : first_##X, any_flags());                         \
      upc_barrier;                                                                                                     \
      upc_memget(&got, one, sizeof(T));                                                                                \
      CHECK(got == want);                                                                                              \
      upc_barrier;                                                                                                     \
      bupc_all_reduce_all##X(results, src, op, n, b, op == UPC_FUNC ? more_##X : first_##X, any_flags());                \
      upc_barrier;                                                                                                     \
      upc_memget(&got, bupc_ptradd(results, 1, (2 * MOST + 4) * sizeof(T), MYTHREAD), sizeof(T));                        \
      CHECK(got == want);                                                                                              \
      upc_barrier;                                                                                                     \
      upc_all_prefix_reduce##X(dst, src, op, n, b, op == UPC_FUNC ? more_##X : first_##X, any_flags());                  \
      upc_barrier;                                                                                                     \
      want = all[0];                                                                                                   \
      for (size_t i = 0; i < n; i++) {                                                                                 \
        if (i > 0) want = op_##X(op, want, all[i]);                                                                     \
        upc_memget(&got, bupc_ptradd(dst, b, sizeof(T), (ptrdiff_t)i), sizeof(T));                                      \
        CHECK(got == want);                                                                                            \
      }                                                                                                                \
    }                                                                                                                  \
    upc_all_free(store);                                                                                               \
    upc_all_free(results);                                                                                             \
    CHECKED(#X);                                                                                                       \
  }
#define WITH(a, b) case UPC_AND: return a & b; case UPC_OR: return a | b; case UPC_XOR: return a ^ b;
#define WITHOUT(a, b)
DEFINE(C, signed char, WITH)
DEFINE(UC, unsigned char, WITH)
DEFINE(S, short, WITH)
DEFINE(US, unsigned short, WITH)
DEFINE(I, int, WITH)
DEFINE(UI, unsigned int, WITH)
DEFINE(L, long, WITH)
DEFINE(UL, unsigned long, WITH)
DEFINE(F, float, WITHOUT)
DEFINE(D, double, WITHOUT)
DEFINE(LD, long double, WITHOUT)

int main(void)
{
  check_C();
  check_UC();
  check_S();
  check_US();
  check_I();
  check_UI();
  check_L();
  check_UL();
  check_F();
  check_D();
  check_LD();
  CHECKED("phases");
  CHECKED("flags");
  CHECKED("all");
  PASS();
}
