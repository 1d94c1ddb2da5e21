/* The pointer arithmetic of upcc_abi.h against an oracle that moves one element at a time. */
#include "upcc_abi.h"
#include <stdio.h>
#include <stdlib.h>

void set_threads(unsigned), set_mythread(unsigned);
#define FRESH __attribute__((__noinline__, __noipa__))

static struct __upc_w up(struct __upc_w w, unsigned long b, unsigned long e)
{
  if (b == 0 || (b > 1 && w.ph + 1 < b)) {
    w.o += e;
    w.ph += b != 0;
    return w;
  }
  if (b > 1) {
    w.ph = 0;
    w.o -= (b - 1) * e;
  }
  if (++w.t == __UPC_T) {
    w.t = 0;
    w.o += (b > 1 ? b : 1) * e;
  }
  return w;
}
static struct __upc_w down(struct __upc_w w, unsigned long b, unsigned long e)
{
  if (b == 0 || (b > 1 && w.ph > 0)) {
    w.o -= e;
    w.ph -= b != 0;
    return w;
  }
  if (b > 1) {
    w.ph = b - 1;
    w.o += (b - 1) * e;
  }
  if (w.t-- == 0) {
    w.t = __UPC_T - 1;
    w.o -= (b > 1 ? b : 1) * e;
  }
  return w;
}

static int bad(const char *what, unsigned long b, unsigned long e, long d)
{
  printf("wrong %s: THREADS %u, block %lu, element %lu, distance %ld\n", what, __upc_rt.threads, b, e, d);
  return 1;
}

/* The thread's own among the n elements from w on: first, own and owned must number them densely. */
static FRESH int one_loop(struct __upc_w w, unsigned long b, unsigned long e, long n)
{
  struct __upc_w x = w;
  long i, k = 0, s = __upc_first(w, b), row = (long)(b * __UPC_T);
  char *own = __upc_own(w, b, e);
  for (i = 0; i < n; i++, x = up(x, b, e)) {
    if (__upc_owned(s, i, b) != k)
      return bad("owned", b, e, i);
    if (x.t != __upc_rt.mythread)
      continue;
    if (i < s || (i - s) % row >= (long)b)
      return bad("first", b, e, i);
    if (own + ((i - s) / row * (long)b + (i - s) % row) * (long)e != __upc_at(x))
      return bad("own", b, e, i);
    k++;
  }
  return 0;
}
static FRESH int turns(long a, long n)
{
  long i, k = 0, d = __upc_turns(a);
  for (i = 0; i < n; i++)
    if ((unsigned long)(a + i) % __UPC_T == __upc_rt.mythread && i != d + k++ * (long)__UPC_T)
      return bad("turns", 1, 1, a);
  return __upc_share(n - d) == k ? 0 : bad("share", 1, 1, n);
}
static FRESH int loops(unsigned me)
{
  struct __upc_w w = { 1 << 20, rand() % __upc_rt.threads, 0 };
  set_mythread(me);
  if (one_loop(w, 1, 8, 300) || turns(rand(), rand() % 50))
    return 1;
  w.ph = rand() % 5;
  if (one_loop(w, 5, 4, 300))
    return 1;
  w.ph = rand() % 16;
  if (one_loop(w, 16, 2, 300))
    return 1;
  w.ph = rand() % 1024;
  return one_loop(w, 1024, 1, 3000);
}
static int same(struct __upc_w a, struct __upc_w b)
{
  return a.o == b.o && a.t == b.t && a.ph == b.ph;
}
/* Element i of a declared array, and the same by steps that are known not to go back. */
static FRESH int elements(unsigned long i)
{
  struct __upc_w a = { 4096, 0, 0 };
  if (!same(__upc_el0(4096, i, 8), __upc_add(a, (long)i, 0, 8)))
    return bad("element", 0, 8, (long)i);
  if (!same(__upc_el1(4096, i, 8), __upc_add(a, (long)i, 1, 8)))
    return bad("element", 1, 8, (long)i);
  if (!same(__upc_elb(4096, i, 7, 8), __upc_add(a, (long)i, 7, 8)))
    return bad("element", 7, 8, (long)i);
  a.t = __UPC_T - 1;
  if (!same(__upc_add1u(a, i, 8), __upc_add(a, (long)i, 1, 8)))
    return bad("step", 1, 8, (long)i);
  a.ph = 5;
  return same(__upc_addbu(a, i, 7, 8), __upc_add(a, (long)i, 7, 8)) ? 0 : bad("step", 7, 8, (long)i);
}

#define TRY(B, E) \
  { \
    struct __upc_w w = { (1ul << 20) + rand() % 1000 * (E), rand() % __upc_rt.threads, (B) > 1 ? rand() % ((B) + !(B)) : 0 }, f, s = w; \
    long d = rand() % 4001 - 2000, k; \
    for (k = d; k > 0; k--) s = up(s, B, E); \
    for (k = d; k < 0; k++) s = down(s, B, E); \
    f = __upc_u(__upc_p(__upc_add(w, d, B, E))); \
    if (f.o != s.o || f.t != s.t || f.ph != s.ph) return bad("sum", B, E, d); \
    if (__upc_sub(f, w, B, E) != d || __upc_sub(w, f, B, E) != -d) return bad("difference", B, E, d); \
    if (__upc_eq(f, w) != (d == 0)) return bad("comparison", B, E, d); \
  }

static FRESH int sums(void)
{
  TRY(0, 4) TRY(1, 8) TRY(1, 1) TRY(2, 4) TRY(3, 3) TRY(5, 8) TRY(7, 24) TRY(16, 8) TRY(1000, 4) TRY(1024, 8) TRY(1048576ul, 1)
  return 0;
}

static FRESH int quotients(unsigned t)
{
  unsigned long n = ((unsigned long)rand() << 32 ^ (unsigned long)rand() << 8 ^ rand()) & 0x7fffffffffffffff;
  if (rand() % 3 == 0)
    n = n / t * t - (n >= t);
  n >>= rand() % 60;
  return __upc_udivt(n) == n / t ? 0 : bad("quotient", 0, 0, (long)n);
}

static FRESH unsigned threads(void) { return __UPC_T; }

int main(void)
{
  long it;
  unsigned me;
#ifdef __UPC_STATIC_THREADS
#define MANY(n) set_threads(__UPC_STATIC_THREADS)
#else
#define MANY(n) set_threads(n)
#endif
  for (it = 0; it < 3000; it++) {
    MANY(it % 3 ? rand() % 8 + 1 : rand() % 1023 + 1);
    if (sums() || elements(rand()))
      return 1;
  }
  for (it = 0; it < 60; it++) {
    MANY(it % 7 + 1);
    for (me = 0; me < threads(); me++)
      if (loops(me))
        return 1;
  }
#ifndef __UPC_STATIC_THREADS
  for (it = 0; it < 2000000; it++) {
    unsigned t = rand() % (it & 1 ? 2147483647 : 1000) + 1;
    set_threads(t);
    if (quotients(t))
      return 1;
  }
#endif
  return 0;
}
