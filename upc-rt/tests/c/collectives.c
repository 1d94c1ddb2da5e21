/* upc_collective.h against a serial oracle: random sizes, blocks, starts, operations. */
#define __UPC_USE_upc_all_broadcast 1
#define __UPC_USE_upc_all_scatter 1
#define __UPC_USE_upc_all_gather 1
#define __UPC_USE_upc_all_gather_all 1
#define __UPC_USE_upc_all_exchange 1
#define __UPC_USE_upc_all_permute 1
#define __UPC_USE_upc_all_reduceI 1
#define __UPC_USE_upc_all_prefix_reduceI 1
#define __UPC_USE_bupc_all_reduce_allI 1
#define __UPC_USE_upc_all_reduceC 1
#define __UPC_USE_upc_all_prefix_reduceC 1
#define __UPC_USE_upc_all_reduceUL 1
#define __UPC_USE_upc_all_reduceD 1
#define __UPC_USE_upc_all_prefix_reduceD 1
#define __UPC_USE_upc_all_reduceLD 1
#define __UPC_USE_upc_all_prefix_reduceLD 1
#include "program.h"
#define __UPC_LIBRARY 1
#include "../../include/upcc_abi.h"

static unsigned long seed = 12345;
static unsigned long rnd(unsigned long below)   /* the same numbers on all threads */
{
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (seed >> 33) % below;
}
static __upc_pts pts(unsigned long o, unsigned long t, unsigned long ph) { return __upc_p((struct __upc_w){ o, t, ph }); }
static const int FLAGS[] = { 0, 1 | 8, 2 | 16, 4 | 32, 1, 32, 4 | 8, 2 | 32 };
static int flags(void) { return FLAGS[rnd(8)]; }

static void moves(void)
{
  for (int round = 0; round < 25; round++) {
    unsigned long n = 1 + rnd(round < 20 ? 100 : 50000), T = THREADS, t1 = rnd(T);
    unsigned long a = __upc_alloc_global(T, n * T, 1), b = __upc_alloc_global(T, n * T, 1), p = __upc_alloc_global(T, 4, 1);
    int shift = rnd(T), f;
    unsigned char *mine = (unsigned char *)__upc_mine(a), *got = (unsigned char *)__upc_mine(b);
#define V(t, i) ((unsigned char)((t) * 31 + (i) * 7 + (i) / 251 + round))
#define RESET() do { for (unsigned long i = 0; i < n * T; i++) mine[i] = V(ME, i), got[i] = 0xee; __upc_barrier(0, 0); } while (0)
#define DONE() __upc_barrier(0, 0)
    *(int *)__upc_mine(p) = (ME + shift) % THREADS;
    RESET(); f = flags(); upc_all_broadcast(pts(b, 0, 0), pts(a, t1, 0), n, f); DONE();
    for (unsigned long i = 0; i < n; i++) CHECK(got[i] == V(t1, i));
    RESET(); f = flags(); upc_all_scatter(pts(b, 0, 0), pts(a, t1, 0), n, f); DONE();
    for (unsigned long i = 0; i < n; i++) CHECK(got[i] == V(t1, ME * n + i));
    RESET(); f = flags(); upc_all_gather(pts(b, t1, 0), pts(a, 0, 0), n, f); DONE();
    if (ME == (int)t1) for (unsigned long i = 0; i < n * T; i++) CHECK(got[i] == V(i / n, i % n));
    RESET(); f = flags(); upc_all_gather_all(pts(b, 0, 0), pts(a, 0, 0), n, f); DONE();
    for (unsigned long i = 0; i < n * T; i++) CHECK(got[i] == V(i / n, i % n));
    RESET(); f = flags(); upc_all_exchange(pts(b, 0, 0), pts(a, 0, 0), n, f); DONE();
    for (unsigned long i = 0; i < n * T; i++) CHECK(got[i] == V(i / n, ME * n + i % n));
    RESET(); f = flags(); upc_all_permute(pts(b, 0, 0), pts(a, 0, 0), pts(p, 0, 0), n, f); DONE();
    for (unsigned long i = 0; i < n; i++) CHECK(got[i] == V((ME + THREADS - shift) % THREADS, i));
    DONE();
    __upc_free(0, a, 1); __upc_free(0, b, 1); __upc_free(0, p, 1);
  }
}

/* a function that is associative and does not commute: the later one wins unless it is 0 */
#define LAST(X, T) static T last##X(T a, T b) { return b != 0 ? b : a; }
LAST(I, int) LAST(C, signed char) LAST(D, double) LAST(LD, long double)
#define MOST(X, T) static T most##X(T a, T b) { return a > b ? a : b; }
MOST(I, int) MOST(C, signed char) MOST(D, double) MOST(LD, long double)

#define REDUCTIONS(X, T, OPS) \
static T oracle##X(int op, T a, T b) { return __upc_combine##X(op, op == __UPC_OP_FUNC ? most##X : last##X, a, b); } \
static void reductions##X(void) \
{ \
  static const int ops[] = OPS; \
  for (int round = 0; round < 60; round++) { \
    unsigned long n = 1 + rnd(round % 10 ? 60 : 5000), b = rnd(4) ? 1 + rnd(12) : rnd(3) * 100, t0 = rnd(THREADS), E = sizeof(T); \
    unsigned long ph = b > 1 ? rnd(b) : 0, lead = ph + 1, td = rnd(THREADS), k; \
    int op = ops[rnd(sizeof ops / sizeof ops[0])], f = flags(); \
    T (*fn)(T, T) = op == __UPC_OP_FUNC ? most##X : op == __UPC_OP_NONCOMM ? last##X : 0; \
    /* room for any layout of b and t0; the array starts lead elements in */ \
    unsigned long bytes = (n + 2 * b + lead + 4) * E, a = __upc_alloc_global(THREADS, bytes, 1), c = __upc_alloc_global(THREADS, bytes, 1); \
    unsigned long r = __upc_alloc_global(THREADS, E, 1); \
    struct __upc_w w = { a + lead * E, t0, ph }, w2 = { c + lead * E, t0, ph }; \
    T *want = malloc(n * sizeof(T)), v, x; \
    for (k = 0; k < n; k++) { \
      struct __upc_w at = __upc_add(w, (long)k, b, E); \
      v = (T)(long)(rnd(7) - 2); \
      want[k] = k ? oracle##X(op, want[k - 1], v) : v; \
      if (at.t == (unsigned long)ME) __upc_put(ME, at.o, &v, E); \
    } \
    __upc_barrier(0, 0); \
    upc_all_reduce##X(pts(r, td, 0), __upc_p(w), op, n, b, fn, f); \
    __upc_barrier(0, 0); \
    __upc_get(&x, td, r, E); \
    CHECK(x == want[n - 1]); \
    upc_all_prefix_reduce##X(__upc_p(w2), __upc_p(w), op, n, b, fn, f); \
    __upc_barrier(0, 0); \
    for (k = 0; k < n; k++) { \
      struct __upc_w at = __upc_add(w2, (long)k, b, E); \
      __upc_get(&x, (unsigned)at.t, at.o, E); \
      CHECK(x == want[k]); \
    } \
    __upc_barrier(0, 0); \
    free(want); \
    __upc_free(0, a, 1); __upc_free(0, c, 1); __upc_free(0, r, 1); \
  } \
}
#define COMMA ,
REDUCTIONS(I, int, { 1 COMMA 2 COMMA 4 COMMA 8 COMMA 16 COMMA 32 COMMA 64 COMMA 128 COMMA 256 COMMA __UPC_OP_FUNC COMMA __UPC_OP_NONCOMM })
REDUCTIONS(C, signed char, { 1 COMMA 4 COMMA 128 COMMA 256 COMMA __UPC_OP_NONCOMM })
REDUCTIONS(D, double, { 1 COMMA 32 COMMA 128 COMMA 256 COMMA __UPC_OP_FUNC COMMA __UPC_OP_NONCOMM })
REDUCTIONS(LD, long double, { 1 COMMA 128 COMMA __UPC_OP_FUNC COMMA __UPC_OP_NONCOMM })

static int user_main(int argc, char **argv)
{
  (void)argc; (void)argv;
  moves();
  reductionsI();
  reductionsC();
  reductionsD();
  reductionsLD();
  unsigned long r = __upc_alloc_global(THREADS, 8, 1), a = __upc_alloc_global(THREADS, 80, 1);
  for (int i = 0; i < 10; i++) write_long(ME, a + i * 8, ME + i);
  ((int *)__upc_mine(r))[0] = 0;
  __upc_barrier(0, 0);
  upc_all_reduceUL(pts(r, THREADS - 1, 0), pts(a, 0, 0), 1, 10 * THREADS, 10, 0, 0);
  long sum = 0;
  for (int t = 0; t < THREADS; t++) for (int i = 0; i < 10; i++) sum += t + i;
  CHECK(read_long(THREADS - 1, r) == sum);
  __upc_barrier(0, 0);
  for (int i = 0; i < 10; i++) ((int *)__upc_mine(a))[i] = ME == 0 ? i : 0;
  bupc_all_reduce_allI(pts(r, 0, 0), pts(a, 0, 0), 1, 10, 0, 0, 0);
  CHECK(((int *)__upc_mine(r))[0] == 45);
  if (ME == 0) printf("collectives ok\n");
  return 0;
}
