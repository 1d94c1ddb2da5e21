/* upcc_bupc.h: Berkeley's extensions (bupc_extensions.h). Included by upcc_lib.h. */
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
  return __upc_plain_atomic(op, word, (unsigned)w.t, w.o, a, b, strict ? 1 : __UPC_RELAXED);
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
/* asynchronous copies */
#ifdef __UPC_USE_bupc_memcpy_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_async(__upc_pts d, __upc_pts s, unsigned long n) { return __upc_memcpy_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_bupc_memget_async
__UPC_WEAK struct __upc_transfer *bupc_memget_async(void *d, __upc_pts s, unsigned long n) { return __upc_memget_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_bupc_memput_async
__UPC_WEAK struct __upc_transfer *bupc_memput_async(__upc_pts d, const void *s, unsigned long n) { return __upc_memput_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_bupc_memset_async
__UPC_WEAK struct __upc_transfer *bupc_memset_async(__upc_pts d, int c, unsigned long n) { return __upc_memset_nb(d, c, n, 0); }
#endif
#ifdef __UPC_USE_bupc_memcpy_asynci
__UPC_WEAK void bupc_memcpy_asynci(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_bupc_memget_asynci
__UPC_WEAK void bupc_memget_asynci(void *d, __upc_pts s, unsigned long n) { __upc_memget_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_bupc_memput_asynci
__UPC_WEAK void bupc_memput_asynci(__upc_pts d, const void *s, unsigned long n) { __upc_memput_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_bupc_memset_asynci
__UPC_WEAK void bupc_memset_asynci(__upc_pts d, int c, unsigned long n) { __upc_memset_nb(d, c, n, 1); }
#endif
#ifdef __UPC_USE_bupc_waitsync
__UPC_WEAK void bupc_waitsync(struct __upc_transfer *h) { __upc_sync(h, 1); }
#endif
#ifdef __UPC_USE_bupc_trysync
__UPC_WEAK int bupc_trysync(struct __upc_transfer *h) { return __upc_sync(h, 0); }
#endif
#ifdef __UPC_USE_bupc_waitsync_all
__UPC_WEAK void bupc_waitsync_all(struct __upc_transfer **h, unsigned long n) { __upc_sync_list(h, n, 1, 1); }
#endif
#ifdef __UPC_USE_bupc_trysync_all
__UPC_WEAK int bupc_trysync_all(struct __upc_transfer **h, unsigned long n) { return __upc_sync_list(h, n, 1, 0); }
#endif
#ifdef __UPC_USE_bupc_waitsync_some
__UPC_WEAK void bupc_waitsync_some(struct __upc_transfer **h, unsigned long n) { __upc_sync_list(h, n, 0, 1); }
#endif
#ifdef __UPC_USE_bupc_trysync_some
__UPC_WEAK int bupc_trysync_some(struct __upc_transfer **h, unsigned long n) { return __upc_sync_list(h, n, 0, 0); }
#endif
#ifdef __UPC_USE_bupc_waitsynci
__UPC_WEAK void bupc_waitsynci(void) { __upc_synci(1, 1, 1); }
#endif
#ifdef __UPC_USE_bupc_trysynci
__UPC_WEAK int bupc_trysynci(void) { return __upc_synci(1, 1, 0); }
#endif
#ifdef __UPC_USE_bupc_waitsynci_puts
__UPC_WEAK void bupc_waitsynci_puts(void) { __upc_synci(1, 0, 1); }
#endif
#ifdef __UPC_USE_bupc_trysynci_puts
__UPC_WEAK int bupc_trysynci_puts(void) { return __upc_synci(1, 0, 0); }
#endif
#ifdef __UPC_USE_bupc_waitsynci_gets
__UPC_WEAK void bupc_waitsynci_gets(void) { __upc_synci(0, 1, 1); }
#endif
#ifdef __UPC_USE_bupc_trysynci_gets
__UPC_WEAK int bupc_trysynci_gets(void) { return __upc_synci(0, 1, 0); }
#endif
/* a region is complete when it ends */
#ifdef __UPC_USE_bupc_begin_accessregion
__UPC_WEAK void bupc_begin_accessregion(void) { }
#endif
#ifdef __UPC_USE_bupc_end_accessregion
__UPC_WEAK struct __upc_transfer *bupc_end_accessregion(void) { __upc_synci(1, 1, 1); return 0; }
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
/* pieces that are started between these two have one handle */
void __upc_begin_pieces(void);
struct __upc_transfer *__upc_end_pieces(void);
/* one transfer with private memory: runs of count[0] bytes in some dimensions, on both sides */
void __upc_start_box(int get, unsigned t, unsigned long o, const unsigned long *strides, const unsigned long *count, unsigned long levels,
                     void *local, const unsigned long *local_strides, const unsigned long *local_count, unsigned long local_levels);
/* where such runs of thread t are here, for a get's destination or a put's source; 0: the thread is far */
void *__upc_box_here(int get, unsigned t, unsigned long o, const unsigned long *strides, const unsigned long *count, unsigned long levels);
/* one transfer with private memory: n runs of thread t, at offsets, and n of the same lengths here, at addresses */
struct __upc_run { unsigned long at, len; };
void __upc_start_list(int get, unsigned t, unsigned long n, const struct __upc_run *remote, const struct __upc_run *local);
#define __UPC_LIST 128
__UPC_SF void __upc_transfer(struct __upc_w d, struct __upc_w s, unsigned long n)
{
  if (n == 0)
    return;
  if (d.t == ~0ul)
    __upc_start_get((void *)d.o, (unsigned)s.t, s.o, n, 1);
  else if (s.t == ~0ul)
    __upc_start_put((unsigned)d.t, d.o, (const void *)s.o, n, 1);
  else
    __upc_start_copy((unsigned)d.t, d.o, (unsigned)s.t, s.o, n, 1);
}
/* a copy between runs: one transfer if a side is here; 0 if both are shared and far */
__UPC_SF int __upc_between(struct __upc_w d, const unsigned long *ds, const unsigned long *dn, unsigned long dl,
                           struct __upc_w s, const unsigned long *ss, const unsigned long *sn, unsigned long sl)
{
  void *p = 0;
  if (s.t == ~0ul || (d.t != ~0ul && (p = __upc_box_here(0, (unsigned)s.t, s.o, ss, sn, sl)) != 0))
    __upc_start_box(0, (unsigned)d.t, d.o, ds, dn, dl, s.t == ~0ul ? (void *)s.o : p, ss, sn, sl);
  else if (d.t == ~0ul || (p = __upc_box_here(1, (unsigned)d.t, d.o, ds, dn, dl)) != 0)
    __upc_start_box(1, (unsigned)s.t, s.o, ss, sn, sl, d.t == ~0ul ? (void *)d.o : p, ds, dn, dl);
  else
    return 0;
  return 1;
}
__UPC_SF struct __upc_transfer *__upc_pieces(struct __upc_side d, struct __upc_side s)
{
  unsigned long i = 0, j = 0, dl = 0, sl = 0, n, t = 0, listed = 0;
  int get = !d.shared, direction = get;
  struct __upc_w to = { 0, 0, 0 }, from = { 0, 0, 0 }, far = { 0, 0, 0 }, own = { 0, 0, 0 };
  struct __upc_run there[__UPC_LIST], here[__UPC_LIST];
  struct __upc_transfer *h;
  __upc_begin_pieces();
  if (d.kind == 2 && s.kind == 2 && !__builtin_mul_overflow(d.len, d.count, &dl) && !__builtin_mul_overflow(s.len, s.count, &sl) && dl == sl) {
    const unsigned long dn[2] = { d.len, d.count }, sn[2] = { s.len, s.count };
    if (__upc_between(d.at, &d.stride, dn, 1, s.at, &s.stride, sn, 1))
      return __upc_end_pieces();
  }
  dl = sl = 0;
  for (;;) {
    while (dl == 0 && i < d.count) to = __upc_piece(&d, i++, &dl);
    while (sl == 0 && j < s.count) from = __upc_piece(&s, j++, &sl);
    if (dl == 0 || sl == 0)
      break;
    n = dl < sl ? dl : sl;
    if (d.shared && s.shared) {
      void *p;
      if ((p = __upc_box_here(0, (unsigned)from.t, from.o, 0, &n, 0)) != 0)
        direction = 0, own = __upc_private(p), far = to;
      else if ((p = __upc_box_here(1, (unsigned)to.t, to.o, 0, &n, 0)) != 0)
        direction = 1, own = __upc_private(p), far = from;
      else
        direction = -1;
    } else
      far = d.shared ? to : from, own = d.shared ? from : to;
    if (direction < 0)
      __upc_transfer(to, from, n);
    else {
      /* runs of one thread that follow each other are one transfer */
      if (listed == __UPC_LIST || (listed != 0 && (far.t != t || direction != get))) {
        __upc_start_list(get, (unsigned)t, listed, there, here);
        listed = 0;
      }
      get = direction;
      t = far.t;
      there[listed].at = far.o;
      here[listed].at = own.o;
      there[listed].len = here[listed].len = n;
      listed++;
    }
    to.o += n; from.o += n; dl -= n; sl -= n;
  }
  if (listed != 0)
    __upc_start_list(get, (unsigned)t, listed, there, here);
  h = __upc_end_pieces();
  if (dl != sl)
    __upc_error("a copy of several pieces: source and destination have different numbers of bytes");
  return h;
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
__UPC_SF struct __upc_transfer *__upc_strided(struct __upc_w d, const unsigned long *ds, struct __upc_w s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_begin_pieces();
  if (!__upc_between(d, ds, count, levels, s, ss, count, levels))
    __upc_box(d, ds, s, ss, count, levels);
  return __upc_end_pieces();
}
#ifdef __UPC_USE_bupc_memcpy_vlist
__UPC_WEAK void bupc_memcpy_vlist(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_ilist
__UPC_WEAK void bupc_memcpy_ilist(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_fstrided
__UPC_WEAK void bupc_memcpy_fstrided(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_strided
__UPC_WEAK void bupc_memcpy_strided(__upc_pts d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_sync(__upc_strided(__upc_u(d), ds, __upc_u(s), ss, count, levels), 1);
}
#endif
#ifdef __UPC_USE_bupc_memput_vlist
__UPC_WEAK void bupc_memput_vlist(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_pmemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 0, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memput_ilist
__UPC_WEAK void bupc_memput_ilist(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const void *const *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 0, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memput_fstrided
__UPC_WEAK void bupc_memput_fstrided(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, const void *s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 0, 0, __upc_private(s), sn, slen, ss };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memput_strided
__UPC_WEAK void bupc_memput_strided(__upc_pts d, const unsigned long *ds, const void *s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_sync(__upc_strided(__upc_u(d), ds, __upc_private(s), ss, count, levels), 1);
}
#endif
#ifdef __UPC_USE_bupc_memget_vlist
__UPC_WEAK void bupc_memget_vlist(unsigned long dn, const bupc_pmemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 0, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memget_ilist
__UPC_WEAK void bupc_memget_ilist(unsigned long dn, void *const *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 0, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memget_fstrided
__UPC_WEAK void bupc_memget_fstrided(void *d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 0, 0, __upc_private(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  __upc_sync(__upc_pieces(a, b), 1);
}
#endif
#ifdef __UPC_USE_bupc_memget_strided
__UPC_WEAK void bupc_memget_strided(void *d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  __upc_sync(__upc_strided(__upc_private(d), ds, __upc_u(s), ss, count, levels), 1);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_vlist_async(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_ilist_async(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_fstrided_async(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memcpy_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memcpy_strided_async(__upc_pts d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  return __upc_strided(__upc_u(d), ds, __upc_u(s), ss, count, levels);
}
#endif
#ifdef __UPC_USE_bupc_memput_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memput_vlist_async(unsigned long dn, const bupc_smemvec_t *dl, unsigned long sn, const bupc_pmemvec_t *sl)
{
  struct __upc_side a = { 0, 1, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 0, sl, { 0, 0, 0 }, sn, 0, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memput_ilist_async(unsigned long dn, const __upc_pts *dl, unsigned long dlen, unsigned long sn, const void *const *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 1, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 0, sl, { 0, 0, 0 }, sn, slen, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memput_fstrided_async(__upc_pts d, unsigned long dlen, unsigned long ds, unsigned long dn, const void *s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 1, 0, __upc_u(d), dn, dlen, ds }, b = { 2, 0, 0, __upc_private(s), sn, slen, ss };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memput_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memput_strided_async(__upc_pts d, const unsigned long *ds, const void *s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  return __upc_strided(__upc_u(d), ds, __upc_private(s), ss, count, levels);
}
#endif
#ifdef __UPC_USE_bupc_memget_vlist_async
__UPC_WEAK struct __upc_transfer *bupc_memget_vlist_async(unsigned long dn, const bupc_pmemvec_t *dl, unsigned long sn, const bupc_smemvec_t *sl)
{
  struct __upc_side a = { 0, 0, dl, { 0, 0, 0 }, dn, 0, 0 }, b = { 0, 1, sl, { 0, 0, 0 }, sn, 0, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_ilist_async
__UPC_WEAK struct __upc_transfer *bupc_memget_ilist_async(unsigned long dn, void *const *dl, unsigned long dlen, unsigned long sn, const __upc_pts *sl, unsigned long slen)
{
  struct __upc_side a = { 1, 0, dl, { 0, 0, 0 }, dn, dlen, 0 }, b = { 1, 1, sl, { 0, 0, 0 }, sn, slen, 0 };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_fstrided_async
__UPC_WEAK struct __upc_transfer *bupc_memget_fstrided_async(void *d, unsigned long dlen, unsigned long ds, unsigned long dn, __upc_pts s, unsigned long slen, unsigned long ss, unsigned long sn)
{
  struct __upc_side a = { 2, 0, 0, __upc_private(d), dn, dlen, ds }, b = { 2, 1, 0, __upc_u(s), sn, slen, ss };
  return __upc_pieces(a, b);
}
#endif
#ifdef __UPC_USE_bupc_memget_strided_async
__UPC_WEAK struct __upc_transfer *bupc_memget_strided_async(void *d, const unsigned long *ds, __upc_pts s, const unsigned long *ss, const unsigned long *count, unsigned long levels)
{
  return __upc_strided(__upc_private(d), ds, __upc_u(s), ss, count, levels);
}
#endif
