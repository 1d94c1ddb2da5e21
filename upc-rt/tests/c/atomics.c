/* upc_atomic.h: every operation on every type against a serial oracle, then contention. */
#define __UPC_USE_upc_all_atomicdomain_alloc 1
#define __UPC_USE_upc_all_atomicdomain_free 1
#define __UPC_USE_upc_atomic_strict 1
#define __UPC_USE_upc_atomic_relaxed 1
#define __UPC_USE_upc_atomic_isfast 1
#include "program.h"
#define __UPC_LIBRARY 1
#include "../../include/upcc_abi.h"

enum { ADD = 1, MULT = 2, AND = 4, OR = 8, XOR = 16, MIN = 128, MAX = 256, GET = 1 << 16, SET = 1 << 17, CSWAP = 1 << 18,
  SUB = 1 << 19, INC = 1 << 20, DEC = 1 << 21 };
static __upc_pts pts(unsigned long o, unsigned long t, unsigned long ph) { return __upc_p((struct __upc_w){ o, t, ph }); }
static unsigned long cell;

#define EACH(T, NUMBER, BITS) \
static void each_##NUMBER(void) \
{ \
  int all = ADD | MULT | MIN | MAX | GET | SET | CSWAP | SUB | INC | DEC | (BITS ? AND | OR | XOR : 0); \
  __upc_pts d = upc_all_atomicdomain_alloc(NUMBER, all, 0); \
  int right = (ME + 1) % THREADS; \
  __upc_pts at = pts(cell + 64, right, 0); \
  T have = 5, a = 3, b = 9, old, want = 5; \
  __upc_put(right, cell + 64, &have, sizeof have); \
  static const int ops[] = { ADD, MULT, SUB, INC, DEC, MIN, MAX, SET, ADD, CSWAP, GET, CSWAP, AND, OR, XOR }; \
  for (unsigned i = 0; i < (BITS ? 15 : 12); i++) { \
    int op = ops[i]; \
    T before = want; \
    if (i == 11) a = want; \
    switch (op) { \
    case ADD: want += a; break; case MULT: want *= a; break; case SUB: want -= a; break; case INC: want++; break; \
    case DEC: want--; break; case MIN: want = a < want ? a : want; break; case MAX: want = a > want ? a : want; break; \
    case SET: want = a; break; case CSWAP: if (want == a) want = b; break; \
    case AND: want = (T)((long)want & (long)a); break; case OR: want = (T)((long)want | (long)a); break; \
    case XOR: want = (T)((long)want ^ (long)a); break; } \
    int none = op == GET || op == INC || op == DEC; \
    old = 77; \
    (i % 2 ? upc_atomic_strict : upc_atomic_relaxed)(d, i % 3 || op == GET ? &old : 0, op, at, none ? 0 : &a, op == CSWAP ? &b : 0); \
    CHECK(old == (i % 3 || op == GET ? before : (T)77)); \
    __upc_get(&have, right, cell + 64, sizeof have); \
    CHECK(have == want); \
    a = a * 2 + 1; \
  } \
  upc_all_atomicdomain_free(d); \
}
EACH(int, 5, 1)
EACH(unsigned, 6, 1)
EACH(long, 7, 1)
EACH(unsigned long, 8, 1)
EACH(float, 19, 0)
EACH(double, 20, 0)

static void bad(const char *how)
{
  __upc_pts d = upc_all_atomicdomain_alloc(5, ADD | GET | CSWAP | SET, 0), p = upc_all_atomicdomain_alloc(22, GET | SET, 0);
  int v = 1;
  if (!strcmp(how, "add-null")) upc_atomic_relaxed(d, 0, ADD, pts(cell, 0, 0), 0, 0);
  if (!strcmp(how, "cswap-null")) upc_atomic_relaxed(d, 0, CSWAP, pts(cell, 0, 0), &v, 0);
  if (!strcmp(how, "get-null")) upc_atomic_relaxed(d, 0, GET, pts(cell, 0, 0), 0, 0);
  if (!strcmp(how, "foreign-op")) upc_atomic_relaxed(d, 0, XOR, pts(cell, 0, 0), &v, 0);
  if (!strcmp(how, "pts-null")) upc_atomic_relaxed(p, 0, SET, pts(cell, 0, 0), 0, 0);
  if (!strcmp(how, "no-domain")) upc_atomic_relaxed(pts(0, 0, 0), 0, ADD, pts(cell, 0, 0), &v, 0);
  if (!strcmp(how, "bad-op")) upc_all_atomicdomain_alloc(22, ADD, 0);
  if (!strcmp(how, "bad-type")) upc_all_atomicdomain_alloc(1, ADD, 0);
}

static int user_main(int argc, char **argv)
{
  cell = __upc_alloc_global(THREADS, 256, 1);
  if (argc > 1) { bad(argv[1]); return 0; }
  each_5(); each_6(); each_7(); each_8(); each_19(); each_20();
  /* -0.0 equals 0.0 */
  __upc_pts d = upc_all_atomicdomain_alloc(20, CSWAP, 0);
  double z = -0.0, zero = 0.0, one = 1.0;
  __upc_put(ME, cell, &z, 8);
  upc_atomic_relaxed(d, 0, CSWAP, pts(cell, ME, 0), &zero, &one);
  __upc_get(&z, ME, cell, 8);
  CHECK(z == 1.0);
  upc_all_atomicdomain_free(d);
  /* pointers: compared without phase */
  d = upc_all_atomicdomain_alloc(22, GET | SET | CSWAP, 0);
  __upc_pts p = pts(0x1230, 0, 3), q = pts(0x1230, 0, 5), r = pts(0x4560, THREADS - 1, 7), old;
  __upc_pts slot = pts(cell + 128, (ME + 1) % THREADS, 0);
  upc_atomic_strict(d, 0, SET, slot, &p, 0);
  upc_atomic_strict(d, &old, CSWAP, slot, &r, &q);
  CHECK(!memcmp(&old, &p, sizeof p));
  upc_atomic_strict(d, &old, CSWAP, slot, &q, &r);
  CHECK(!memcmp(&old, &p, sizeof p));
  upc_atomic_relaxed(d, &old, GET, slot, 0, 0);
  CHECK(!memcmp(&old, &r, sizeof r));
  __upc_barrier(0, 0);
  /* contention: a stack of all threads' items on thread 0, pushed by compare-and-swap */
  p = __UPC_NULL;
  if (ME == 0) upc_atomic_strict(d, 0, SET, pts(cell + 192, 0, 0), &p, 0);
  enum { N = 400 };
  unsigned long items = __upc_alloc_global(THREADS, N * sizeof(__upc_pts), 1);
  for (int i = 0; i < N; i++) {
    __upc_pts item = pts(items + i * sizeof item, ME, 0), head, seen;
    upc_atomic_relaxed(d, &head, GET, pts(cell + 192, 0, 0), 0, 0);
    for (;; head = seen) {
      __upc_put(ME, items + i * sizeof item, &head, sizeof head);
      upc_atomic_strict(d, &seen, CSWAP, pts(cell + 192, 0, 0), &head, &item);
      if (!memcmp(&seen, &head, sizeof head)) break;
    }
  }
  __upc_barrier(0, 0);
  long count = 0;
  __upc_get(&p, 0, cell + 192, sizeof p);
  for (; __upc_nonnull(__upc_u(p)); count++) __upc_get(&p, (unsigned)__upc_u(p).t, __upc_u(p).o, sizeof p);
  CHECK(count == (long)N * THREADS);
  upc_all_atomicdomain_free(d);
  upc_all_atomicdomain_free(__UPC_NULL);
  CHECK(upc_atomic_isfast(5, ADD, pts(cell, ME, 0)));
  if (ME == 0) printf("atomics ok\n");
  return 0;
}
