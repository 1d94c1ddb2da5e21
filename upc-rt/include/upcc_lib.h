/* upcc_lib.h: the library functions beyond upc.h, as weak C definitions in every object that uses them, so that a
 * definition of the user's wins. Included by upcc_abi.h; the same conventions hold (__UPC_USE_<function>). */
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
struct __upc_thread_info { int __g, __p; };
__UPC_WEAK struct __upc_thread_info upc_thread_info(unsigned long t)
{
  struct __upc_w w = { 0, t, 0 };
  int all = t < __UPC_T && __upc_near(w) ? 15 : 0;
  return (struct __upc_thread_info){ all, all };
}
#endif

/* ---- upc_nb.h: transfers that are complete when they return ---- */
#ifdef __UPC_USE_upc_memcpy_nb
__UPC_WEAK void *upc_memcpy_nb(__upc_pts d, __upc_pts s, unsigned long n)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_copy((unsigned)a.t, a.o, (unsigned)b.t, b.o, n);
  return 0;
}
#endif
#ifdef __UPC_USE_upc_memget_nb
__UPC_WEAK void *upc_memget_nb(void *d, __upc_pts s, unsigned long n)
{
  struct __upc_w b = __upc_u(s);
  __upc_get(d, (unsigned)b.t, b.o, n);
  return 0;
}
#endif
#ifdef __UPC_USE_upc_memput_nb
__UPC_WEAK void *upc_memput_nb(__upc_pts d, const void *s, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_put((unsigned)a.t, a.o, s, n);
  return 0;
}
#endif
#ifdef __UPC_USE_upc_memset_nb
__UPC_WEAK void *upc_memset_nb(__upc_pts d, int c, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_set((unsigned)a.t, a.o, c, n);
  return 0;
}
#endif
#ifdef __UPC_USE_upc_sync
__UPC_WEAK void upc_sync(void *h) { (void)h; __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_sync_attempt
__UPC_WEAK int upc_sync_attempt(void *h) { (void)h; __upc_poll(); return 1; }
#endif
#ifdef __UPC_USE_upc_memcpy_nbi
__UPC_WEAK void upc_memcpy_nbi(__upc_pts d, __upc_pts s, unsigned long n)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_copy((unsigned)a.t, a.o, (unsigned)b.t, b.o, n);
}
#endif
#ifdef __UPC_USE_upc_memget_nbi
__UPC_WEAK void upc_memget_nbi(void *d, __upc_pts s, unsigned long n)
{
  struct __upc_w b = __upc_u(s);
  __upc_get(d, (unsigned)b.t, b.o, n);
}
#endif
#ifdef __UPC_USE_upc_memput_nbi
__UPC_WEAK void upc_memput_nbi(__upc_pts d, const void *s, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_put((unsigned)a.t, a.o, s, n);
}
#endif
#ifdef __UPC_USE_upc_memset_nbi
__UPC_WEAK void upc_memset_nbi(__upc_pts d, int c, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_set((unsigned)a.t, a.o, c, n);
}
#endif
#ifdef __UPC_USE_upc_synci
__UPC_WEAK void upc_synci(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_synci_attempt
__UPC_WEAK int upc_synci_attempt(void) { __upc_poll(); return 1; }
#endif

/* ---- bupc_extensions.h ---- */
#ifdef __UPC_USE_bupc_poll
__UPC_WEAK void bupc_poll(void) { __upc_poll(); }
#endif
#ifdef __UPC_USE_upc_poll
__UPC_WEAK void upc_poll(void) { __upc_poll(); }
#endif

#endif
