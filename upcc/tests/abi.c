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

/* The local part of an array of n elements that starts at w: count, elem and local must number it densely. */
static FRESH int one_loop(struct __upc_w w, unsigned long b, unsigned long e, long n)
{
  struct __upc_w x = w;
  long i, k = 0;
  unsigned long rank = __upc_rank_from(w.t);
  for (i = 0; i < n; i++, x = up(x, b, e)) {
    if (__upc_count(i, b, rank) != k)
      return bad("count", b, e, i);
    if (x.t != __upc_rt.mythread)
      continue;
    if (__upc_elem(k, b, rank) != i)
      return bad("elem", b, e, i);
    if (__upc_local(w.o, w.t, b, e) + k * e != __upc_at(x))
      return bad("local", b, e, i);
    k++;
  }
  return 0;
}
static FRESH int loops(unsigned me)
{
  struct __upc_w w = { 4096, rand() % __upc_rt.threads, 0 };
  set_mythread(me);
  return one_loop(w, 1, 8, 300) || one_loop(w, 5, 4, 300) || one_loop(w, 16, 2, 300) || one_loop(w, 1024, 1, 3000);
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
    if (sums())
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
