/* upcc_lib.h: the library functions beyond upc.h, as weak C definitions in every object that uses them, so that a
 * definition of the user's wins. Included by upcc_abi.h; the same conventions hold (__UPC_USE_<function>). Their types are
 * those of the UPC headers, which the emitted file has declared before. */
#ifndef __UPCC_LIB_H
#define __UPCC_LIB_H 1

/* ---- upc_tick.h; ticks are nanoseconds ---- */
unsigned long __upc_ticks_now(void);
#ifdef __UPC_USE_upc_ticks_now
__UPC_WEAK unsigned long upc_ticks_now(void) { return __upc_ticks_now(); }
#endif
#ifdef __UPC_USE_upc_ticks_to_ns
__UPC_WEAK unsigned long upc_ticks_to_ns(unsigned long ticks) { return ticks; }
#endif
#ifdef __UPC_USE_bupc_ticks_now
__UPC_WEAK unsigned long bupc_ticks_now(void) { return __upc_ticks_now(); }
#endif
#ifdef __UPC_USE_bupc_ticks_to_ns
__UPC_WEAK unsigned long bupc_ticks_to_ns(unsigned long ticks) { return ticks; }
#endif
#ifdef __UPC_USE_bupc_ticks_to_us
__UPC_WEAK unsigned long bupc_ticks_to_us(unsigned long ticks) { return ticks / 1000; }
#endif
#ifdef __UPC_USE_bupc_tick_granularityus
double __upc_tick_granularity(void);
__UPC_WEAK double bupc_tick_granularityus(void) { return __upc_tick_granularity(); }
#endif
#ifdef __UPC_USE_bupc_tick_overheadus
double __upc_tick_overhead(void);
__UPC_WEAK double bupc_tick_overheadus(void) { return __upc_tick_overhead(); }
#endif

/* ---- upc_castable.h ---- */
#ifdef __UPC_USE_upc_cast
__UPC_WEAK void *upc_cast(__upc_pts p)
{
  struct __upc_w w = __upc_u(p);
  return __upc_nonnull(w) && __upc_near(w) ? (void *)__upc_at(w) : (void *)0;
}
#endif
#ifdef __UPC_USE_upc_thread_info
__UPC_WEAK struct upc_thread_info upc_thread_info(unsigned long t)
{
  struct __upc_w w = { 0, t, 0 };
  int all = t < __UPC_T && __upc_near(w) ? 15 : 0;
  return (struct upc_thread_info){ all, all };
}
#endif

struct __upc_transfer;
/* ---- upc_nb.h: transfers that are complete when they return ---- */
#ifdef __UPC_USE_upc_memcpy_nb
__UPC_WEAK struct __upc_transfer *upc_memcpy_nb(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_upc_memget_nb
__UPC_WEAK struct __upc_transfer *upc_memget_nb(void *d, __upc_pts s, unsigned long n) { __upc_memget(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_upc_memput_nb
__UPC_WEAK struct __upc_transfer *upc_memput_nb(__upc_pts d, const void *s, unsigned long n) { __upc_memput(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_upc_memset_nb
__UPC_WEAK struct __upc_transfer *upc_memset_nb(__upc_pts d, int c, unsigned long n) { __upc_memset(d, c, n); return 0; }
#endif
#ifdef __UPC_USE_upc_sync
__UPC_WEAK void upc_sync(struct __upc_transfer *h) { (void)h; __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_sync_attempt
__UPC_WEAK int upc_sync_attempt(struct __upc_transfer *h) { (void)h; __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_upc_memcpy_nbi
__UPC_WEAK void upc_memcpy_nbi(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memget_nbi
__UPC_WEAK void upc_memget_nbi(void *d, __upc_pts s, unsigned long n) { __upc_memget(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memput_nbi
__UPC_WEAK void upc_memput_nbi(__upc_pts d, const void *s, unsigned long n) { __upc_memput(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memset_nbi
__UPC_WEAK void upc_memset_nbi(__upc_pts d, int c, unsigned long n) { __upc_memset(d, c, n); }
#endif
#ifdef __UPC_USE_upc_synci
__UPC_WEAK void upc_synci(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_synci_attempt
__UPC_WEAK int upc_synci_attempt(void) { __upc_poll(); return 1; }
#endif

/* ---- upc_atomic.h ---- */
#ifdef __UPC_USE_upc_all_atomicdomain_alloc
unsigned long __upc_atomicdomain_alloc(int, int);
__UPC_WEAK __upc_pts upc_all_atomicdomain_alloc(int type, int ops, int hints)
{
  (void)hints;
  return __upc_p((struct __upc_w){ __upc_atomicdomain_alloc(type, ops), 0, 0 });
}
#endif
#ifdef __UPC_USE_upc_all_atomicdomain_free
void __upc_atomicdomain_free(unsigned long);
__UPC_WEAK void upc_all_atomicdomain_free(__upc_pts p) { __upc_atomicdomain_free(__upc_u(p).o); }
#endif
void __upc_atomic(unsigned long, void *, int, unsigned, unsigned long, const void *, const void *, int);
#ifdef __UPC_USE_upc_atomic_strict
__UPC_WEAK void upc_atomic_strict(__upc_pts domain, void *fetch, int op, __upc_pts target, const void *a, const void *b)
{
  struct __upc_w w = __upc_u(target);
  __upc_atomic(__upc_u(domain).o, fetch, op, (unsigned)w.t, w.o, a, b, 1);
}
#endif
#ifdef __UPC_USE_upc_atomic_relaxed
__UPC_WEAK void upc_atomic_relaxed(__upc_pts domain, void *fetch, int op, __upc_pts target, const void *a, const void *b)
{
  struct __upc_w w = __upc_u(target);
  __upc_atomic(__upc_u(domain).o, fetch, op, (unsigned)w.t, w.o, a, b, 0);
}
#endif
#ifdef __UPC_USE_upc_atomic_isfast
__UPC_WEAK int upc_atomic_isfast(int type, int ops, __upc_pts p)
{
  (void)type; (void)ops;
  return __upc_near(__upc_u(p));
}
#endif

/* ---- upc_collective.h: data movement ---- */
void __upc_all_move(int, unsigned, unsigned long, unsigned, unsigned long, unsigned long, int);
void __upc_all_permute(unsigned, unsigned long, unsigned, unsigned long, unsigned, unsigned long, unsigned long, int);
#ifdef __UPC_USE_upc_all_broadcast
__UPC_WEAK void upc_all_broadcast(__upc_pts d, __upc_pts s, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_all_move(0, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags);
}
#endif
#ifdef __UPC_USE_upc_all_scatter
__UPC_WEAK void upc_all_scatter(__upc_pts d, __upc_pts s, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_all_move(1, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags);
}
#endif
#ifdef __UPC_USE_upc_all_gather
__UPC_WEAK void upc_all_gather(__upc_pts d, __upc_pts s, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_all_move(2, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags);
}
#endif
#ifdef __UPC_USE_upc_all_gather_all
__UPC_WEAK void upc_all_gather_all(__upc_pts d, __upc_pts s, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_all_move(3, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags);
}
#endif
#ifdef __UPC_USE_upc_all_exchange
__UPC_WEAK void upc_all_exchange(__upc_pts d, __upc_pts s, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_all_move(4, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags);
}
#endif
#ifdef __UPC_USE_upc_all_permute
__UPC_WEAK void upc_all_permute(__upc_pts d, __upc_pts s, __upc_pts perm, unsigned long n, int flags)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s), p = __upc_u(perm);
  __upc_all_permute((unsigned)a.t, a.o, (unsigned)b.t, b.o, (unsigned)p.t, p.o, n, flags);
}
#endif

/* ---- upc_collective.h: teams (Berkeley) ---- */
#define __UPC_TEAM_MOVE(what) \
  struct __upc_w a = __upc_u(d), b = __upc_u(s); \
  return __upc_team_move(team, what, (unsigned)a.t, a.o, (unsigned)b.t, b.o, n, flags)
void *__upc_team_move(void *, int, unsigned, unsigned long, unsigned, unsigned long, unsigned long, int);
#ifdef __UPC_USE_bupc_team_split
void *__upc_team_split(void *, int, int);
__UPC_WEAK void *bupc_team_split(void *parent, int color, int relrank) { return __upc_team_split(parent, color, relrank); }
#endif
#ifdef __UPC_USE_bupc_team_broadcast
__UPC_WEAK void *bupc_team_broadcast(void *team, __upc_pts d, __upc_pts s, unsigned long n, int flags) { __UPC_TEAM_MOVE(0); }
#endif
#ifdef __UPC_USE_bupc_team_scatter
__UPC_WEAK void *bupc_team_scatter(void *team, __upc_pts d, __upc_pts s, unsigned long n, int flags) { __UPC_TEAM_MOVE(1); }
#endif
#ifdef __UPC_USE_bupc_team_gather
__UPC_WEAK void *bupc_team_gather(void *team, __upc_pts d, __upc_pts s, unsigned long n, int flags) { __UPC_TEAM_MOVE(2); }
#endif
#ifdef __UPC_USE_bupc_team_gather_all
__UPC_WEAK void *bupc_team_gather_all(void *team, __upc_pts d, __upc_pts s, unsigned long n, int flags) { __UPC_TEAM_MOVE(3); }
#endif
#ifdef __UPC_USE_bupc_team_exchange
__UPC_WEAK void *bupc_team_exchange(void *team, __upc_pts d, __upc_pts s, unsigned long n, int flags) { __UPC_TEAM_MOVE(4); }
#endif
#ifdef __UPC_USE_bupc_coll_wait
void __upc_team_wait(void *);
__UPC_WEAK void bupc_coll_wait(void *handle) { __upc_team_wait(handle); }
#endif
#ifdef __UPC_USE_bupc_load_coll_tuning_file
__UPC_WEAK void bupc_load_coll_tuning_file(void *team, char *file) { (void)team; (void)file; }
#endif
#ifdef __UPC_USE_bupc_store_coll_tuning_file
__UPC_WEAK void bupc_store_coll_tuning_file(void *team, char *file) { (void)team; (void)file; }
#endif

/* ---- upc_collective.h: reductions. The elements of an array on one thread lie side by side whatever the layout, so an
 * operation that commutes is one loop over them, then one over the threads' results. In order (prefix reductions, functions
 * that do not commute) it goes block by block: every thread computes the totals of its blocks, then reads those of all. ---- */
#define __UPC_OP_FUNC 0x400000
#define __UPC_OP_NONCOMM 0x800000
void __upc_error(const char *) __attribute__((__noreturn__));
struct __upc_reduction { const char *name; unsigned long dt, d, st, s, op, n, b, flags; };   /* what all threads give alike */
void __upc_reduce_enter(const struct __upc_reduction *);
void __upc_reduce_exit(const struct __upc_reduction *);
int __upc_reduce_combine(void *, unsigned long, int, int, void (*)(const void *, void *, const void *), const void *);
void __upc_reduce_gather(const void *, void *, unsigned long);
void *__upc_malloc(unsigned long);
void __upc_mfree(void *);
#define __UPC_SF static __attribute__((__unused__))

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
  const struct __upc_reduction args = { all ? "bupc_all_reduce_all" #X : "upc_all_reduce" #X, d.t, d.o, s.t, s.o, (unsigned)op, n, b, (unsigned)flags }; \
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
  struct __upc_reduction args = { "upc_all_prefix_reduce" #X, d.t, d.o, s.t, s.o, (unsigned)op, n, b, (unsigned)flags }; \
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
#if defined __UPC_USE_upc_all_reduceC || defined __UPC_USE_upc_all_prefix_reduceC || defined __UPC_USE_bupc_all_reduce_allC
__UPC_REDUCTIONS(C, signed char, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceC
__UPC_WEAK void upc_all_reduceC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed char (*f)(signed char, signed char), int flags)
{
  __upc_reduceC(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allC
__UPC_WEAK void bupc_all_reduce_allC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed char (*f)(signed char, signed char), int flags)
{
  __upc_reduceC(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceC
__UPC_WEAK void upc_all_prefix_reduceC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed char (*f)(signed char, signed char), int flags)
{
  __upc_prefixC(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceUC || defined __UPC_USE_upc_all_prefix_reduceUC || defined __UPC_USE_bupc_all_reduce_allUC
__UPC_REDUCTIONS(UC, unsigned char, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceUC
__UPC_WEAK void upc_all_reduceUC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned char (*f)(unsigned char, unsigned char), int flags)
{
  __upc_reduceUC(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allUC
__UPC_WEAK void bupc_all_reduce_allUC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned char (*f)(unsigned char, unsigned char), int flags)
{
  __upc_reduceUC(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceUC
__UPC_WEAK void upc_all_prefix_reduceUC(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned char (*f)(unsigned char, unsigned char), int flags)
{
  __upc_prefixUC(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceS || defined __UPC_USE_upc_all_prefix_reduceS || defined __UPC_USE_bupc_all_reduce_allS
__UPC_REDUCTIONS(S, signed short, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceS
__UPC_WEAK void upc_all_reduceS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed short (*f)(signed short, signed short), int flags)
{
  __upc_reduceS(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allS
__UPC_WEAK void bupc_all_reduce_allS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed short (*f)(signed short, signed short), int flags)
{
  __upc_reduceS(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceS
__UPC_WEAK void upc_all_prefix_reduceS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed short (*f)(signed short, signed short), int flags)
{
  __upc_prefixS(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceUS || defined __UPC_USE_upc_all_prefix_reduceUS || defined __UPC_USE_bupc_all_reduce_allUS
__UPC_REDUCTIONS(US, unsigned short, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceUS
__UPC_WEAK void upc_all_reduceUS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned short (*f)(unsigned short, unsigned short), int flags)
{
  __upc_reduceUS(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allUS
__UPC_WEAK void bupc_all_reduce_allUS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned short (*f)(unsigned short, unsigned short), int flags)
{
  __upc_reduceUS(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceUS
__UPC_WEAK void upc_all_prefix_reduceUS(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned short (*f)(unsigned short, unsigned short), int flags)
{
  __upc_prefixUS(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceI || defined __UPC_USE_upc_all_prefix_reduceI || defined __UPC_USE_bupc_all_reduce_allI
__UPC_REDUCTIONS(I, signed int, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceI
__UPC_WEAK void upc_all_reduceI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed int (*f)(signed int, signed int), int flags)
{
  __upc_reduceI(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allI
__UPC_WEAK void bupc_all_reduce_allI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed int (*f)(signed int, signed int), int flags)
{
  __upc_reduceI(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceI
__UPC_WEAK void upc_all_prefix_reduceI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed int (*f)(signed int, signed int), int flags)
{
  __upc_prefixI(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceUI || defined __UPC_USE_upc_all_prefix_reduceUI || defined __UPC_USE_bupc_all_reduce_allUI
__UPC_REDUCTIONS(UI, unsigned int, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceUI
__UPC_WEAK void upc_all_reduceUI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned int (*f)(unsigned int, unsigned int), int flags)
{
  __upc_reduceUI(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allUI
__UPC_WEAK void bupc_all_reduce_allUI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned int (*f)(unsigned int, unsigned int), int flags)
{
  __upc_reduceUI(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceUI
__UPC_WEAK void upc_all_prefix_reduceUI(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned int (*f)(unsigned int, unsigned int), int flags)
{
  __upc_prefixUI(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceL || defined __UPC_USE_upc_all_prefix_reduceL || defined __UPC_USE_bupc_all_reduce_allL
__UPC_REDUCTIONS(L, signed long, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceL
__UPC_WEAK void upc_all_reduceL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed long (*f)(signed long, signed long), int flags)
{
  __upc_reduceL(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allL
__UPC_WEAK void bupc_all_reduce_allL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed long (*f)(signed long, signed long), int flags)
{
  __upc_reduceL(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceL
__UPC_WEAK void upc_all_prefix_reduceL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, signed long (*f)(signed long, signed long), int flags)
{
  __upc_prefixL(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceUL || defined __UPC_USE_upc_all_prefix_reduceUL || defined __UPC_USE_bupc_all_reduce_allUL
__UPC_REDUCTIONS(UL, unsigned long, __UPC_BITS)
#endif
#ifdef __UPC_USE_upc_all_reduceUL
__UPC_WEAK void upc_all_reduceUL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned long (*f)(unsigned long, unsigned long), int flags)
{
  __upc_reduceUL(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allUL
__UPC_WEAK void bupc_all_reduce_allUL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned long (*f)(unsigned long, unsigned long), int flags)
{
  __upc_reduceUL(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceUL
__UPC_WEAK void upc_all_prefix_reduceUL(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, unsigned long (*f)(unsigned long, unsigned long), int flags)
{
  __upc_prefixUL(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceF || defined __UPC_USE_upc_all_prefix_reduceF || defined __UPC_USE_bupc_all_reduce_allF
__UPC_REDUCTIONS(F, float, __UPC_NOBITS)
#endif
#ifdef __UPC_USE_upc_all_reduceF
__UPC_WEAK void upc_all_reduceF(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, float (*f)(float, float), int flags)
{
  __upc_reduceF(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allF
__UPC_WEAK void bupc_all_reduce_allF(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, float (*f)(float, float), int flags)
{
  __upc_reduceF(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceF
__UPC_WEAK void upc_all_prefix_reduceF(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, float (*f)(float, float), int flags)
{
  __upc_prefixF(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceD || defined __UPC_USE_upc_all_prefix_reduceD || defined __UPC_USE_bupc_all_reduce_allD
__UPC_REDUCTIONS(D, double, __UPC_NOBITS)
#endif
#ifdef __UPC_USE_upc_all_reduceD
__UPC_WEAK void upc_all_reduceD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, double (*f)(double, double), int flags)
{
  __upc_reduceD(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allD
__UPC_WEAK void bupc_all_reduce_allD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, double (*f)(double, double), int flags)
{
  __upc_reduceD(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceD
__UPC_WEAK void upc_all_prefix_reduceD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, double (*f)(double, double), int flags)
{
  __upc_prefixD(d, s, op, n, b, f, flags);
}
#endif
#if defined __UPC_USE_upc_all_reduceLD || defined __UPC_USE_upc_all_prefix_reduceLD || defined __UPC_USE_bupc_all_reduce_allLD
__UPC_REDUCTIONS(LD, long double, __UPC_NOBITS)
#endif
#ifdef __UPC_USE_upc_all_reduceLD
__UPC_WEAK void upc_all_reduceLD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, long double (*f)(long double, long double), int flags)
{
  __upc_reduceLD(d, s, op, n, b, f, flags, 0);
}
#endif
#ifdef __UPC_USE_bupc_all_reduce_allLD
__UPC_WEAK void bupc_all_reduce_allLD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, long double (*f)(long double, long double), int flags)
{
  __upc_reduceLD(d, s, op, n, b, f, flags, 1);
}
#endif
#ifdef __UPC_USE_upc_all_prefix_reduceLD
__UPC_WEAK void upc_all_prefix_reduceLD(__upc_pts d, __upc_pts s, int op, unsigned long n, unsigned long b, long double (*f)(long double, long double), int flags)
{
  __upc_prefixLD(d, s, op, n, b, f, flags);
}
#endif

/* ---- bupc_extensions.h ---- */
#ifdef __UPC_USE_bupc_poll
__UPC_WEAK void bupc_poll(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_poll
__UPC_WEAK void upc_poll(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_exit
void exit(int);
__UPC_WEAK void bupc_exit(int status) { exit(status); }
#endif
#ifdef __UPC_USE___bupc_atomic
unsigned long __upc_plain_atomic(int, int, unsigned, unsigned long, unsigned long, unsigned long, int);
__UPC_WEAK unsigned long __bupc_atomic(int op, int word, __upc_pts p, unsigned long a, unsigned long b, int strict)
{
  struct __upc_w w = __upc_u(p);
  return __upc_plain_atomic(op, word, (unsigned)w.t, w.o, a, b, strict);
}
#endif
#ifdef __UPC_USE_bupc_dump_shared
int __upc_dump(char *, int, unsigned long, unsigned long, unsigned long, unsigned long);
__UPC_WEAK int bupc_dump_shared(__upc_pts p, char *buf, int maxlen)
{
  struct __upc_w w = __upc_u(p);
  return __upc_dump(buf, maxlen, __upc_nonnull(w) ? __upc_int(w) : 0, w.o, w.t, w.ph);
}
#endif
#ifdef __UPC_USE_bupc_cast
__UPC_WEAK void *bupc_cast(__upc_pts p)
{
  struct __upc_w w = __upc_u(p);
  return __upc_nonnull(w) && __upc_near(w) ? (void *)__upc_at(w) : (void *)0;
}
#endif
#ifdef __UPC_USE_bupc_castable
__UPC_WEAK int bupc_castable(__upc_pts p) { return __upc_near(__upc_u(p)); }
#endif
#ifdef __UPC_USE_bupc_thread_castable
__UPC_WEAK int bupc_thread_castable(unsigned t) { return t < __UPC_T && __upc_near((struct __upc_w){ 0, t, 0 }); }
#endif
#ifdef __UPC_USE_bupc_inverse_cast
int __upc_locate(const void *, unsigned *, unsigned long *);
__UPC_WEAK __upc_pts bupc_inverse_cast(void *p)
{
  unsigned t;
  unsigned long o;
  return __upc_locate(p, &t, &o) ? __upc_p((struct __upc_w){ o, t, 0 }) : __UPC_NULL;
}
#endif
#ifdef __UPC_USE_bupc_local_to_shared
__UPC_WEAK __upc_pts bupc_local_to_shared(void *p, int t, int phase)
{
  if (!p)
    return __UPC_NULL;
  return __upc_p((struct __upc_w){ (unsigned long)((char *)p - __upc_rt.base) - (unsigned long)t * __upc_rt.stride, (unsigned long)t, (unsigned long)phase });
}
#endif
#ifdef __UPC_USE_bupc_ptradd
__UPC_WEAK __upc_pts bupc_ptradd(__upc_pts p, unsigned long b, unsigned long e, long n)
{
  return __upc_p(__upc_add(__upc_u(p), n, b, e));
}
#endif
#ifdef __UPC_USE_bupc_thread_distance
__UPC_WEAK unsigned bupc_thread_distance(int x, int y)
{
  return x == y ? 0 : __upc_near((struct __upc_w){ 0, (unsigned long)x, 0 }) && __upc_near((struct __upc_w){ 0, (unsigned long)y, 0 }) ? 100 : 300;
}
#endif
#ifdef __UPC_USE_bupc_getenv
char *__upc_getenv(const char *);
__UPC_WEAK char *bupc_getenv(const char *name) { return __upc_getenv(name); }
#endif
#ifdef __UPC_USE_bupc_system
int __upc_system(const char *);
__UPC_WEAK int bupc_system(const char *command) { return __upc_system(command); }
#endif
/* semaphores */
unsigned long __upc_sem_alloc(int);
void __upc_sem_free(unsigned, unsigned long);
void __upc_sem_post(unsigned, unsigned long, unsigned long);
int __upc_sem_take(unsigned, unsigned long, unsigned long, int);
#define __UPC_SEM(f, ...) struct __upc_w w = __upc_u(s); f((unsigned)w.t, w.o __VA_ARGS__)
#ifdef __UPC_USE_bupc_sem_alloc
__UPC_WEAK __upc_pts bupc_sem_alloc(int flags) { return __upc_p((struct __upc_w){ __upc_sem_alloc(flags), __upc_rt.mythread, 0 }); }
#endif
#ifdef __UPC_USE_bupc_sem_free
__UPC_WEAK void bupc_sem_free(__upc_pts s) { __UPC_SEM(__upc_sem_free); }
#endif
#ifdef __UPC_USE_bupc_sem_post
__UPC_WEAK void bupc_sem_post(__upc_pts s) { __UPC_SEM(__upc_sem_post, , 1); }
#endif
#ifdef __UPC_USE_bupc_sem_postN
__UPC_WEAK void bupc_sem_postN(__upc_pts s, unsigned long n) { __UPC_SEM(__upc_sem_post, , n); }
#endif
#ifdef __UPC_USE_bupc_sem_wait
__UPC_WEAK void bupc_sem_wait(__upc_pts s) { __UPC_SEM(__upc_sem_take, , 1, 1); }
#endif
#ifdef __UPC_USE_bupc_sem_waitN
__UPC_WEAK void bupc_sem_waitN(__upc_pts s, unsigned long n) { __UPC_SEM(__upc_sem_take, , n, 1); }
#endif
#ifdef __UPC_USE_bupc_sem_try
__UPC_WEAK int bupc_sem_try(__upc_pts s) { __UPC_SEM(return __upc_sem_take, , 1, 0); }
#endif
#ifdef __UPC_USE_bupc_sem_tryN
__UPC_WEAK int bupc_sem_tryN(__upc_pts s, unsigned long n) { __UPC_SEM(return __upc_sem_take, , n, 0); }
#endif
#ifdef __UPC_USE_bupc_memput_signal
__UPC_WEAK void bupc_memput_signal(__upc_pts d, const void *src, unsigned long n, __upc_pts s, unsigned long count)
{
  struct __upc_w to = __upc_u(d);
  __upc_put((unsigned)to.t, to.o, src, n);
  __UPC_SEM(__upc_sem_post, , count);
}
#endif
#ifdef __UPC_USE_bupc_memput_signal_async
__UPC_WEAK void bupc_memput_signal_async(__upc_pts d, const void *src, unsigned long n, __upc_pts s, unsigned long count)
{
  struct __upc_w to = __upc_u(d);
  __upc_put((unsigned)to.t, to.o, src, n);
  __UPC_SEM(__upc_sem_post, , count);
}
#endif
/* asynchronous copies: complete when they return */
#ifdef __UPC_USE_bupc_memcpy_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_async(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_bupc_memget_async
__UPC_WEAK struct __upc_transfer *bupc_memget_async(void *d, __upc_pts s, unsigned long n) { __upc_memget(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_bupc_memput_async
__UPC_WEAK struct __upc_transfer *bupc_memput_async(__upc_pts d, const void *s, unsigned long n) { __upc_memput(d, s, n); return 0; }
#endif
#ifdef __UPC_USE_bupc_memset_async
__UPC_WEAK struct __upc_transfer *bupc_memset_async(__upc_pts d, int c, unsigned long n) { __upc_memset(d, c, n); return 0; }
#endif
#ifdef __UPC_USE_bupc_memcpy_asynci
__UPC_WEAK void bupc_memcpy_asynci(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy(d, s, n); }
#endif
#ifdef __UPC_USE_bupc_memget_asynci
__UPC_WEAK void bupc_memget_asynci(void *d, __upc_pts s, unsigned long n) { __upc_memget(d, s, n); }
#endif
#ifdef __UPC_USE_bupc_memput_asynci
__UPC_WEAK void bupc_memput_asynci(__upc_pts d, const void *s, unsigned long n) { __upc_memput(d, s, n); }
#endif
#ifdef __UPC_USE_bupc_memset_asynci
__UPC_WEAK void bupc_memset_asynci(__upc_pts d, int c, unsigned long n) { __upc_memset(d, c, n); }
#endif
#ifdef __UPC_USE_bupc_waitsync
__UPC_WEAK void bupc_waitsync(struct __upc_transfer *h) { (void)h; __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysync
__UPC_WEAK int bupc_trysync(struct __upc_transfer *h) { (void)h; __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_waitsync_all
__UPC_WEAK void bupc_waitsync_all(struct __upc_transfer **h, unsigned long n) { while (n > 0) h[--n] = 0; __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysync_all
__UPC_WEAK int bupc_trysync_all(struct __upc_transfer **h, unsigned long n) { while (n > 0) h[--n] = 0; __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_waitsync_some
__UPC_WEAK void bupc_waitsync_some(struct __upc_transfer **h, unsigned long n) { while (n > 0) h[--n] = 0; __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysync_some
__UPC_WEAK int bupc_trysync_some(struct __upc_transfer **h, unsigned long n) { while (n > 0) h[--n] = 0; __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_waitsynci
__UPC_WEAK void bupc_waitsynci(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysynci
__UPC_WEAK int bupc_trysynci(void) { __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_waitsynci_puts
__UPC_WEAK void bupc_waitsynci_puts(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysynci_puts
__UPC_WEAK int bupc_trysynci_puts(void) { __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_waitsynci_gets
__UPC_WEAK void bupc_waitsynci_gets(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_bupc_trysynci_gets
__UPC_WEAK int bupc_trysynci_gets(void) { __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_bupc_begin_accessregion
__UPC_WEAK void bupc_begin_accessregion(void) { }
#endif
#ifdef __UPC_USE_bupc_end_accessregion
__UPC_WEAK struct __upc_transfer *bupc_end_accessregion(void) { return 0; }
#endif
/* copies of several pieces. A side is a list of pieces: kind 0 a vector, 1 equal chunks at listed addresses, 2 equal chunks
 * at equal distances; private addresses have thread ~0. */
struct __upc_side { int kind, shared; const void *list; struct __upc_w at; unsigned long count, len, stride; };
struct __upc_pvec { void *addr; unsigned long len; } __attribute__((__may_alias__));
struct __upc_svec { __upc_pts addr; unsigned long len; } __attribute__((__may_alias__));
__UPC_SF struct __upc_w __upc_private(const void *p) { return (struct __upc_w){ (unsigned long)p, ~0ul, 0 }; }
__UPC_SF struct __upc_w __upc_piece(const struct __upc_side *x, unsigned long i, unsigned long *len)
{
  struct __upc_w w = x->at;
  *len = x->len;
  if (x->kind == 0) {
    *len = x->shared ? ((const struct __upc_svec *)x->list)[i].len : ((const struct __upc_pvec *)x->list)[i].len;
    return x->shared ? __upc_u(((const struct __upc_svec *)x->list)[i].addr) : __upc_private(((const struct __upc_pvec *)x->list)[i].addr);
  }
  if (x->kind == 1)
    return x->shared ? __upc_u(((const __upc_pts *)x->list)[i]) : __upc_private(((void *const *)x->list)[i]);
  w.o += i * x->stride;
  return w;
}
/* pieces are started here and waited for together */
void __upc_get_piece(void *, unsigned, unsigned long, unsigned long);
void __upc_put_piece(unsigned, unsigned long, const void *, unsigned long);
void __upc_end_pieces(void);
__UPC_SF void __upc_transfer(struct __upc_w d, struct __upc_w s, unsigned long n)
{
  if (n == 0)
    return;
  if (d.t == ~0ul)
    __upc_get_piece((void *)d.o, (unsigned)s.t, s.o, n);
  else if (s.t == ~0ul)
    __upc_put_piece((unsigned)d.t, d.o, (const void *)s.o, n);
  else
    __upc_copy((unsigned)d.t, d.o, (unsigned)s.t, s.o, n);
}
__UPC_SF void __upc_pieces(struct __upc_side d, struct __upc_side s)
{
  unsigned long i = 0, j = 0, dl = 0, sl = 0, n;
  struct __upc_w to = { 0, 0, 0 }, from = { 0, 0, 0 };
  for (;;) {
    while (dl == 0 && i < d.count) to = __upc_piece(&d, i++, &dl);
    while (sl == 0 && j < s.count) from = __upc_piece(&s, j++, &sl);
    if (dl == 0 || sl == 0)
      break;
    n = dl < sl ? dl : sl;
    __upc_transfer(to, from, n);
    to.o += n; from.o += n; dl -= n; sl -= n;
  }
  __upc_end_pieces();
  if (dl != sl)
    __upc_error("a copy of several pieces: source and destination have different numbers of bytes");
}
__UPC_SF void __upc_box(struct __upc_w d, const unsigned long *ds, struct __upc_w s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  unsigned long i;
  if (levels == 0) {
    __upc_transfer(d, s, count[0]);
    return;
  }
  for (i = 0; i < count[levels]; i++) {
    __upc_box(d, ds, s, ss, count, levels - 1);
    d.o += ds[levels - 1];
    s.o += ss[levels - 1];
  }
}
__UPC_SF void __upc_strided(struct __upc_w d, const unsigned long *ds, struct __upc_w s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_box(d, ds, s, ss, count, levels);
  __upc_end_pieces();
}
#ifdef __UPC_USE_bupc_memcpy_vlist
__UPC_WEAK void bupc_memcpy_vlist(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_ilist
__UPC_WEAK void bupc_memcpy_ilist(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_fstrided
__UPC_WEAK void bupc_memcpy_fstrided(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_strided
__UPC_WEAK void bupc_memcpy_strided(__upc_pts d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_u(d), ds, __upc_u(s), ss, count, levels);
}
#endif
#ifdef __UPC_USE_bupc_memput_vlist
__UPC_WEAK void bupc_memput_vlist(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_pmemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 0, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_ilist
__UPC_WEAK void bupc_memput_ilist(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const void *const *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 0, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_fstrided
__UPC_WEAK void bupc_memput_fstrided(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, const void *s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 0, 0, __upc_private(s), sn, slen, ss };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_strided
__UPC_WEAK void bupc_memput_strided(__upc_pts d, const unsigned long *ds, const void *s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_u(d), ds, __upc_private(s), ss, count, levels);
}
#endif
#ifdef __UPC_USE_bupc_memget_vlist
__UPC_WEAK void bupc_memget_vlist(unsigned long dn, const bupc_pmemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 0, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_ilist
__UPC_WEAK void bupc_memget_ilist(unsigned long dn, void *const *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 0, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_fstrided
__UPC_WEAK void bupc_memget_fstrided(void *d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 0, 0, __upc_private(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_strided
__UPC_WEAK void bupc_memget_strided(void *d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_private(d), ds, __upc_u(s), ss, count, levels);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_vlist_async(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memcpy_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_ilist_async(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memcpy_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_fstrided_async(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memcpy_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_strided_async(__upc_pts d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_u(d), ds, __upc_u(s), ss, count, levels); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memput_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memput_vlist_async(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_pmemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 0, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memput_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memput_ilist_async(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const void *const *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 0, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memput_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memput_fstrided_async(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, const void *s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 0, 0, __upc_private(s), sn, slen, ss };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memput_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memput_strided_async(__upc_pts d, const unsigned long *ds, const void *s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_u(d), ds, __upc_private(s), ss, count, levels); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memget_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memget_vlist_async(unsigned long dn, const bupc_pmemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 0, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memget_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memget_ilist_async(unsigned long dn, void *const *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 0, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memget_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memget_fstrided_async(void *d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 0, 0, __upc_private(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_pieces(a, b); return 0;
}
#endif
#ifdef __UPC_USE_bupc_memget_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memget_strided_async(void *d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_strided(__upc_private(d), ds, __upc_u(s), ss, count, levels); return 0;
}
#endif

/* ---- pupc.h ---- */
#ifdef __UPC_USE_pupc_create_event
__UPC_WEAK unsigned pupc_create_event(const char *name, const char *desc) { (void)name; (void)desc; return 0; }
#endif
#ifdef __UPC_USE_pupc_control
__UPC_WEAK int pupc_control(int on) { (void)on; return 0; }
#endif
#ifdef __UPC_USE_pupc_event_start
__UPC_WEAK void pupc_event_start(unsigned tag, ...) { (void)tag; }
#endif
#ifdef __UPC_USE_pupc_event_end
__UPC_WEAK void pupc_event_end(unsigned tag, ...) { (void)tag; }
#endif
#ifdef __UPC_USE_pupc_event_atomic
__UPC_WEAK void pupc_event_atomic(unsigned tag, ...) { (void)tag; }
#endif

/* ---- upc_io.h ---- */
#define __UPC_FILE __upc_u(fd).o
struct __upc_iovec { unsigned long t, o, block, len; };
long __upc_io_local(unsigned long, void *, unsigned long, int, int);
long __upc_io_shared(unsigned long, unsigned, unsigned long, unsigned long, unsigned long, int, int);
long __upc_io_list(unsigned long, unsigned long, const struct __upc_iovec *, unsigned long, const void *, int, int);
#ifdef __UPC_USE_upc_all_fopen
unsigned long __upc_io_open(const char *, int, unsigned long, const void *);
__UPC_WEAK __upc_pts upc_all_fopen(const char *name, int flags, unsigned long n, struct upc_hint const *hints)
{
  return __upc_p((struct __upc_w){ __upc_io_open(name, flags, n, hints), 0, 0 });
}
#endif
#ifdef __UPC_USE_upc_all_fclose
int __upc_io_close(unsigned long);
__UPC_WEAK int upc_all_fclose(__upc_pts fd) { return __upc_io_close(__UPC_FILE); }
#endif
#ifdef __UPC_USE_upc_all_fsync
int __upc_io_sync(unsigned long);
__UPC_WEAK int upc_all_fsync(__upc_pts fd) { return __upc_io_sync(__UPC_FILE); }
#endif
#ifdef __UPC_USE_upc_all_fseek
long __upc_io_seek(unsigned long, long, int);
__UPC_WEAK long upc_all_fseek(__upc_pts fd, long off, int origin) { return __upc_io_seek(__UPC_FILE, off, origin); }
#endif
#ifdef __UPC_USE_upc_all_fget_size
long __upc_io_get_size(unsigned long);
__UPC_WEAK long upc_all_fget_size(__upc_pts fd) { return __upc_io_get_size(__UPC_FILE); }
#endif
#ifdef __UPC_USE_upc_all_fset_size
int __upc_io_set_size(unsigned long, long, int);
__UPC_WEAK int upc_all_fset_size(__upc_pts fd, long size) { return __upc_io_set_size(__UPC_FILE, size, 0); }
#endif
#ifdef __UPC_USE_upc_all_fpreallocate
int __upc_io_set_size(unsigned long, long, int);
__UPC_WEAK int upc_all_fpreallocate(__upc_pts fd, long size) { return __upc_io_set_size(__UPC_FILE, size, 1); }
#endif
#ifdef __UPC_USE_upc_all_fcntl
int __upc_io_control(unsigned long, int, void *);
__UPC_WEAK int upc_all_fcntl(__upc_pts fd, int cmd, void *arg) { return __upc_io_control(__UPC_FILE, cmd, arg); }
#endif
#ifdef __UPC_USE_upc_all_fread_local
__UPC_WEAK long upc_all_fread_local(__upc_pts fd, void *buf, unsigned long size, unsigned long n, int flags)
{
  return __upc_io_local(__UPC_FILE, buf, size * n, 0, flags);
}
#endif
#ifdef __UPC_USE_upc_all_fread_shared
__UPC_WEAK long upc_all_fread_shared(__upc_pts fd, __upc_pts buf, unsigned long b, unsigned long size, unsigned long n, int flags)
{
  struct __upc_w w = __upc_u(buf);
  return __upc_io_shared(__UPC_FILE, (unsigned)w.t, w.o, b * size, size * n, 0, flags);
}
#endif
#ifdef __UPC_USE_upc_all_fread_list_local
__UPC_WEAK long upc_all_fread_list_local(__upc_pts fd, unsigned long nm, struct upc_local_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) v[i] = (struct __upc_iovec){ ~0ul, (unsigned long)m[i].baseaddr, 0, m[i].len };
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 0, flags);
  __upc_mfree(v);
  return r;
}
#endif
#ifdef __UPC_USE_upc_all_fread_list_shared
__UPC_WEAK long upc_all_fread_list_shared(__upc_pts fd, unsigned long nm, struct upc_shared_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) {
    struct __upc_w w = __upc_u(m[i].baseaddr);
    v[i] = (struct __upc_iovec){ w.t, w.o, m[i].blocksize, m[i].len };
  }
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 0, flags);
  __upc_mfree(v);
  return r;
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_local
__UPC_WEAK long upc_all_fwrite_local(__upc_pts fd, void *buf, unsigned long size, unsigned long n, int flags)
{
  return __upc_io_local(__UPC_FILE, buf, size * n, 1, flags);
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_shared
__UPC_WEAK long upc_all_fwrite_shared(__upc_pts fd, __upc_pts buf, unsigned long b, unsigned long size, unsigned long n, int flags)
{
  struct __upc_w w = __upc_u(buf);
  return __upc_io_shared(__UPC_FILE, (unsigned)w.t, w.o, b * size, size * n, 1, flags);
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_list_local
__UPC_WEAK long upc_all_fwrite_list_local(__upc_pts fd, unsigned long nm, struct upc_local_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) v[i] = (struct __upc_iovec){ ~0ul, (unsigned long)m[i].baseaddr, 0, m[i].len };
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 1, flags);
  __upc_mfree(v);
  return r;
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_list_shared
__UPC_WEAK long upc_all_fwrite_list_shared(__upc_pts fd, unsigned long nm, struct upc_shared_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) {
    struct __upc_w w = __upc_u(m[i].baseaddr);
    v[i] = (struct __upc_iovec){ w.t, w.o, m[i].blocksize, m[i].len };
  }
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 1, flags);
  __upc_mfree(v);
  return r;
}
#endif
#ifdef __UPC_USE_upc_all_fread_local_async
__UPC_WEAK void upc_all_fread_local_async(__upc_pts fd, void *buf, unsigned long size, unsigned long n, int flags)
{
  __upc_io_local(__UPC_FILE, buf, size * n, 0, flags | 64);
}
#endif
#ifdef __UPC_USE_upc_all_fread_shared_async
__UPC_WEAK void upc_all_fread_shared_async(__upc_pts fd, __upc_pts buf, unsigned long b, unsigned long size, unsigned long n, int flags)
{
  struct __upc_w w = __upc_u(buf);
  __upc_io_shared(__UPC_FILE, (unsigned)w.t, w.o, b * size, size * n, 0, flags | 64);
}
#endif
#ifdef __UPC_USE_upc_all_fread_list_local_async
__UPC_WEAK void upc_all_fread_list_local_async(__upc_pts fd, unsigned long nm, struct upc_local_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) v[i] = (struct __upc_iovec){ ~0ul, (unsigned long)m[i].baseaddr, 0, m[i].len };
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 0, flags | 64);
  __upc_mfree(v);
  (void)r;
}
#endif
#ifdef __UPC_USE_upc_all_fread_list_shared_async
__UPC_WEAK void upc_all_fread_list_shared_async(__upc_pts fd, unsigned long nm, struct upc_shared_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) {
    struct __upc_w w = __upc_u(m[i].baseaddr);
    v[i] = (struct __upc_iovec){ w.t, w.o, m[i].blocksize, m[i].len };
  }
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 0, flags | 64);
  __upc_mfree(v);
  (void)r;
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_local_async
__UPC_WEAK void upc_all_fwrite_local_async(__upc_pts fd, void *buf, unsigned long size, unsigned long n, int flags)
{
  __upc_io_local(__UPC_FILE, buf, size * n, 1, flags | 64);
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_shared_async
__UPC_WEAK void upc_all_fwrite_shared_async(__upc_pts fd, __upc_pts buf, unsigned long b, unsigned long size, unsigned long n, int flags)
{
  struct __upc_w w = __upc_u(buf);
  __upc_io_shared(__UPC_FILE, (unsigned)w.t, w.o, b * size, size * n, 1, flags | 64);
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_list_local_async
__UPC_WEAK void upc_all_fwrite_list_local_async(__upc_pts fd, unsigned long nm, struct upc_local_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) v[i] = (struct __upc_iovec){ ~0ul, (unsigned long)m[i].baseaddr, 0, m[i].len };
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 1, flags | 64);
  __upc_mfree(v);
  (void)r;
}
#endif
#ifdef __UPC_USE_upc_all_fwrite_list_shared_async
__UPC_WEAK void upc_all_fwrite_list_shared_async(__upc_pts fd, unsigned long nm, struct upc_shared_memvec const *m, unsigned long nf, struct upc_filevec const *f, int flags)
{
  struct __upc_iovec *v = (struct __upc_iovec *)__upc_malloc(nm * sizeof *v);
  for (unsigned long i = 0; i < nm; i++) {
    struct __upc_w w = __upc_u(m[i].baseaddr);
    v[i] = (struct __upc_iovec){ w.t, w.o, m[i].blocksize, m[i].len };
  }
  long r = __upc_io_list(__UPC_FILE, nm, v, nf, f, 1, flags | 64);
  __upc_mfree(v);
  (void)r;
}
#endif
#ifdef __UPC_USE_upc_all_fwait_async
long __upc_io_wait(unsigned long);
__UPC_WEAK long upc_all_fwait_async(__upc_pts fd) { return __upc_io_wait(__UPC_FILE); }
#endif
#ifdef __UPC_USE_upc_all_ftest_async
long __upc_io_test(unsigned long, int *);
__UPC_WEAK long upc_all_ftest_async(__upc_pts fd, int *flag) { return __upc_io_test(__UPC_FILE, flag); }
#endif

#endif
