/* upcc_reduce.h: reductions of upc_collective.h, in C since functions of the user's combine values of C types. Included by
 * upcc_lib.h. The elements of an array on one thread lie side by side whatever the layout, so an
 * operation that commutes is one loop over them, then one over the threads' results. In order (prefix reductions, functions
 * that do not commute) it goes block by block: every thread computes the totals of its blocks, then reads those of all. */
#define __UPC_OP_FUNC 0x400000
#define __UPC_OP_NONCOMM 0x800000
void __upc_error(const char *) __attribute__((__noreturn__));
/* what all threads give alike, and the elements: their size, where in a block src begins, and dst if it is as long */
struct __upc_reduction { const char *name; unsigned long dt, d, st, s, op, n, b, flags, e, sph; long dph; };
void __upc_reduce_enter(const struct __upc_reduction *);
void __upc_reduce_exit(const struct __upc_reduction *);
int __upc_reduce_combine(void *, unsigned long, int, int, void (*)(const void *, void *, const void *), const void *);
void __upc_reduce_gather(const void *, void *, unsigned long);
void *__upc_malloc(unsigned long);
void __upc_mfree(void *);

/* block k of n elements of e bytes from w on, block size b: its length, and its offset on its thread */
__UPC_IN unsigned long __upc_block(struct __upc_w w, unsigned long n, unsigned long b, unsigned long e, unsigned long k, unsigned long *o)
{
  unsigned long first = k == 0 ? w.ph : 0, end = w.ph + n - k * b;
  *o = w.o + ((w.t + k) / __UPC_T * b + first - w.ph) * e;
  return (end < b ? end : b) - first;
}

#define __UPC_BITS(a, b) \
  case 1 << 2: return a & b; case 1 << 3: return a | b; case 1 << 4: return a ^ b;
#define __UPC_NOBITS(a, b)
#define __UPC_REDUCTIONS(X, T, BITS) \
__UPC_SF T __upc_combine##X(int op, T (*f)(T, T), T a, T b) \
{ \
  switch (op) { \
  case 1 << 0: return a + b; \
  case 1 << 1: return a * b; \
  BITS(a, b) \
  case 1 << 5: return a && b; \
  case 1 << 6: return a || b; \
  case 1 << 7: return b < a ? b : a; \
  case 1 << 8: return a < b ? b : a; \
  case __UPC_OP_FUNC: case __UPC_OP_NONCOMM: return f(a, b); \
  } \
  __upc_error("a reduction: there is no such operation on this type"); \
} \
/* also where no two elements meet */ \
__UPC_SF void __upc_check_op##X(int op, T (*f)(T, T)) \
{ \
  if (op == __UPC_OP_FUNC || op == __UPC_OP_NONCOMM) { \
    if (!f) \
      __upc_error("a reduction: UPC_FUNC and UPC_NONCOMM_FUNC need a function"); \
  } else { \
    __upc_combine##X(op, f, 1, 1); \
  } \
} \
__UPC_SF T __upc_fold##X(int op, T (*f)(T, T), const T *p, unsigned long n) \
{ \
  T a = p[0]; \
  unsigned long i; \
  switch (op) { \
  case 1 << 0: for (i = 1; i < n; i++) a = a + p[i]; break; \
  case 1 << 7: for (i = 1; i < n; i++) a = p[i] < a ? p[i] : a; break; \
  case 1 << 8: for (i = 1; i < n; i++) a = a < p[i] ? p[i] : a; break; \
  default: for (i = 1; i < n; i++) a = __upc_combine##X(op, f, a, p[i]); \
  } \
  return a; \
} \
struct __upc_mixer##X { int op; T (*f)(T, T); }; \
__UPC_SF void __upc_mix##X(const void *x, void *a, const void *b) \
{ \
  const struct __upc_mixer##X *m = (const struct __upc_mixer##X *)x; \
  *(T *)a = __upc_combine##X(m->op, m->f, *(T *)a, *(const T *)b); \
} \
__UPC_SF T *__upc_totals##X(int op, T (*f)(T, T), struct __upc_w s, unsigned long n, unsigned long b, unsigned long nb) \
{ \
  unsigned long per = (nb + __UPC_T - 1) / __UPC_T, k, j, o, t; \
  T *all = (T *)__upc_malloc(nb * sizeof(T)), *some = (T *)__upc_malloc(per * (__UPC_T + 1) * sizeof(T)), *mine = some + per * __UPC_T; \
  for (k = (__upc_rt.mythread + __UPC_T - s.t) % __UPC_T, j = 0; j < per; k += __UPC_T, j++) { \
    unsigned long len = k < nb ? __upc_block(s, n, b, sizeof(T), k, &o) : 0; \
    mine[j] = len ? __upc_fold##X(op, f, (const T *)__upc_mine(o), len) : 0; \
  } \
  __upc_reduce_gather(mine, some, per * sizeof(T)); \
  for (t = 0; t < __UPC_T; t++) \
    for (k = (t + __UPC_T - s.t) % __UPC_T, j = 0; k < nb; k += __UPC_T, j++) all[k] = some[t * per + j]; \
  __upc_mfree(some); \
  return all; \
} \
__UPC_SF void __upc_reduce##X(__upc_pts dst, __upc_pts src, int op, unsigned long n, unsigned long b, T (*f)(T, T), int flags, int all) \
{ \
  struct __upc_w d = __upc_u(dst), s = __upc_u(src); \
  const struct __upc_reduction args = { all ? "bupc_all_reduce_all" #X : "upc_all_reduce" #X, d.t, d.o, s.t, s.o, (unsigned)op, n, b, (unsigned)flags, sizeof(T), s.ph, -1 }; \
  const struct __upc_mixer##X mixer = { op, f }; \
  unsigned long nb, k, o, o2, m, len; \
  int have = 0, root = all || d.t == __upc_rt.mythread; \
  T a = 0; \
  __upc_reduce_enter(&args); \
  __upc_check_op##X(op, f); \
  if (b == 0) { b = n ? n : 1; s.ph = 0; } \
  nb = n ? (s.ph + n + b - 1) / b : 0; \
  if (op == __UPC_OP_NONCOMM && nb > 1) { \
    T *tot = __upc_totals##X(op, f, s, n, b, nb); \
    if (root) \
      for (a = tot[0], have = 1, k = 1; k < nb; k++) a = f(a, tot[k]); \
    __upc_mfree(tot); \
  } else { \
    k = (__upc_rt.mythread + __UPC_T - s.t) % __UPC_T; \
    m = k < nb ? (nb - k + __UPC_T - 1) / __UPC_T : 0; \
    if (m > 0) { \
      len = __upc_block(s, n, b, sizeof(T), k, &o); \
      if (m > 1) len += (m - 2) * b + __upc_block(s, n, b, sizeof(T), k + (m - 1) * __UPC_T, &o2); \
      a = __upc_fold##X(op, f, (const T *)__upc_mine(o), len); \
    } \
    have = __upc_reduce_combine(&a, sizeof a, m > 0, all ? -1 : (int)d.t, __upc_mix##X, &mixer); \
  } \
  if (have) __upc_put(all ? __upc_rt.mythread : (unsigned)d.t, d.o, &a, sizeof a); \
  __upc_reduce_exit(&args); \
} \
__UPC_SF void __upc_prefix##X(__upc_pts dst, __upc_pts src, int op, unsigned long n, unsigned long b, T (*f)(T, T), int flags) \
{ \
  struct __upc_w d = __upc_u(dst), s = __upc_u(src); \
  struct __upc_reduction args = { "upc_all_prefix_reduce" #X, d.t, d.o, s.t, s.o, (unsigned)op, n, b, (unsigned)flags, sizeof(T), s.ph, (long)d.ph }; \
  unsigned long nb, k, o, o2, i, len, t; \
  int same; \
  __upc_reduce_enter(&args); \
  __upc_check_op##X(op, f); \
  if (b == 0) { b = n ? n : 1; s.ph = d.ph = 0; } \
  same = d.t == s.t && d.ph == s.ph; \
  nb = n ? (s.ph + n + b - 1) / b : 0; \
  if (nb > 0) { \
    T *tot = __upc_totals##X(op, f, s, n, b, nb), before = 0; \
    T *run = same ? (T *)0 : (T *)__upc_malloc((b < n ? b : n) * sizeof(T)); \
    for (k = 0, t = s.t; k < nb; k++, t = t + 1 == __UPC_T ? 0 : t + 1) { \
      if (t == __upc_rt.mythread) { \
        len = __upc_block(s, n, b, sizeof(T), k, &o); \
        if (same) __upc_block(d, n, b, sizeof(T), k, &o2); \
        const T *p = (const T *)__upc_mine(o); \
        T *q = same ? (T *)__upc_mine(o2) : run, v = k > 0 ? __upc_combine##X(op, f, before, p[0]) : p[0]; \
        for (q[0] = v, i = 1; i < len; i++) q[i] = v = __upc_combine##X(op, f, v, p[i]); \
        for (i = same ? len : 0; i < len; i += o2) {   /* laid out otherwise: o2 elements up to the end of a block there */ \
          const struct __upc_w w = __upc_add(d, (long)((k ? k * b - s.ph : 0) + i), b, sizeof(T)); \
          o2 = b - w.ph < len - i ? b - w.ph : len - i; \
          __upc_put((unsigned)w.t, w.o, run + i, o2 * sizeof(T)); \
        } \
      } \
      before = k > 0 ? __upc_combine##X(op, f, before, tot[k]) : tot[k]; \
    } \
    __upc_mfree(tot); \
    if (!same) __upc_mfree(run); \
  } \
  if (!same) args.flags &= ~16ul;   /* others write this thread's part */ \
  __upc_reduce_exit(&args); \
}
/* whether a macro is defined as 1, and text only then */
#define __UPC_CAT(a, b) __UPC_CAT2(a, b)
#define __UPC_CAT2(a, b) a##b
#define __UPC_GIVEN_1 ,
#define __UPC_USED(m) __UPC_CHOICE(__UPC_CAT(__UPC_GIVEN_, m))
#define __UPC_CHOICE(given) __UPC_PICK(given 1, 0, 0)
#define __UPC_PICK(...) __UPC_PICK2(__VA_ARGS__)
#define __UPC_PICK2(a, b, ...) b
#define __UPC_OR(a, b) __UPC_CAT(__UPC_OR_, a)(b)
#define __UPC_OR_0(b) b
#define __UPC_OR_1(b) 1
#define __UPC_WHEN(is) __UPC_CAT(__UPC_WHEN_, is)
#define __UPC_WHEN_0(...)
#define __UPC_WHEN_1(...) __VA_ARGS__

/* the functions of one type that are used */
#define __UPC_REDUCTIONS_OF(X, T, BITS) \
__UPC_WHEN(__UPC_OR(__UPC_USED(__UPC_USE_upc_all_reduce##X), \
    __UPC_OR(__UPC_USED(__UPC_USE_upc_all_prefix_reduce##X), __UPC_USED(__UPC_USE_bupc_all_reduce_all##X))))( \
__UPC_REDUCTIONS(X, T, BITS)) \
__UPC_WHEN(__UPC_USED(__UPC_USE_upc_all_reduce##X))( \
__UPC_WEAK void upc_all_reduce##X(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, T (*f)(T, T), int flags) \
{ \
  __upc_reduce##X(d, s, op, n, b, f, flags, 0); \
}) \
__UPC_WHEN(__UPC_USED(__UPC_USE_bupc_all_reduce_all##X))( \
__UPC_WEAK void bupc_all_reduce_all##X(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, T (*f)(T, T), int flags) \
{ \
  __upc_reduce##X(d, s, op, n, b, f, flags, 1); \
}) \
__UPC_WHEN(__UPC_USED(__UPC_USE_upc_all_prefix_reduce##X))( \
__UPC_WEAK void upc_all_prefix_reduce##X(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, T (*f)(T, T), int flags) \
{ \
  __upc_prefix##X(d, s, op, n, b, f, flags); \
})

__UPC_REDUCTIONS_OF(C, signed char, __UPC_BITS)
__UPC_REDUCTIONS_OF(UC, unsigned char, __UPC_BITS)
__UPC_REDUCTIONS_OF(S, signed short, __UPC_BITS)
__UPC_REDUCTIONS_OF(US, unsigned short, __UPC_BITS)
__UPC_REDUCTIONS_OF(I, signed int, __UPC_BITS)
__UPC_REDUCTIONS_OF(UI, unsigned int, __UPC_BITS)
__UPC_REDUCTIONS_OF(L, signed long, __UPC_BITS)
__UPC_REDUCTIONS_OF(UL, unsigned long, __UPC_BITS)
__UPC_REDUCTIONS_OF(F, float, __UPC_NOBITS)
__UPC_REDUCTIONS_OF(D, double, __UPC_NOBITS)
__UPC_REDUCTIONS_OF(LD, long double, __UPC_NOBITS)
