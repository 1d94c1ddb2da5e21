/* What the runtime provides; apart from abi.c, where it is constant. */
struct __upc_rt {
  unsigned mythread, threads, first, mapped;
  char *base;
  unsigned long stride, recip;
  unsigned shift;
} __upc_rt = { .stride = 1ul << 34 };
void abort(void);
void __upc_get(void *a, unsigned b, unsigned long c, unsigned long d) { abort(); }
void __upc_put(unsigned b, unsigned long c, const void *a, unsigned long d) { abort(); }
void __upc_put_later(unsigned b, unsigned long c, const void *a, unsigned long d) { abort(); }
void __upc_get_ahead(void *a, unsigned b, unsigned long c, unsigned long d) { abort(); }
void __upc_arrived(void) { abort(); }
void __upc_fence(void) { abort(); }
void __upc_strict_fence(void) { abort(); }
void __upc_before_look(void) { abort(); }
void __upc_look(unsigned t, unsigned long o, const void *p, unsigned long n) { (void)t; (void)o; (void)p; (void)n; }
void __upc_poll(void) { abort(); }

void set_threads(unsigned t)
{
  unsigned __int128 n;
  __upc_rt.threads = __upc_rt.mapped = t;
  for (__upc_rt.shift = 0; (1ul << __upc_rt.shift) < t; __upc_rt.shift++)
    ;
  n = (unsigned __int128)1 << (63 + __upc_rt.shift);
  __upc_rt.recip = (unsigned long)((n + t - 1) / t);
}
void set_mythread(unsigned t) { __upc_rt.mythread = t; }
