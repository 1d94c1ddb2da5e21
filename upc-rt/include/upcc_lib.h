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

/* ---- upc_nb.h ---- */
#include "upcc_nb.h"
#ifdef __UPC_USE_upc_memcpy_nb
__UPC_WEAK struct __upc_transfer *upc_memcpy_nb(__upc_pts d, __upc_pts s, unsigned long n) { return __upc_memcpy_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_upc_memget_nb
__UPC_WEAK struct __upc_transfer *upc_memget_nb(void *d, __upc_pts s, unsigned long n) { return __upc_memget_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_upc_memput_nb
__UPC_WEAK struct __upc_transfer *upc_memput_nb(__upc_pts d, const void *s, unsigned long n) { return __upc_memput_nb(d, s, n, 0); }
#endif
#ifdef __UPC_USE_upc_memset_nb
__UPC_WEAK struct __upc_transfer *upc_memset_nb(__upc_pts d, int c, unsigned long n) { return __upc_memset_nb(d, c, n, 0); }
#endif
#ifdef __UPC_USE_upc_sync
__UPC_WEAK void upc_sync(struct __upc_transfer *h) { __upc_sync(h, 1); }
#endif
#ifdef __UPC_USE_upc_sync_attempt
__UPC_WEAK int upc_sync_attempt(struct __upc_transfer *h) { return __upc_sync(h, 0); }
#endif
#ifdef __UPC_USE_upc_memcpy_nbi
__UPC_WEAK void upc_memcpy_nbi(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_upc_memget_nbi
__UPC_WEAK void upc_memget_nbi(void *d, __upc_pts s, unsigned long n) { __upc_memget_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_upc_memput_nbi
__UPC_WEAK void upc_memput_nbi(__upc_pts d, const void *s, unsigned long n) { __upc_memput_nb(d, s, n, 1); }
#endif
#ifdef __UPC_USE_upc_memset_nbi
__UPC_WEAK void upc_memset_nbi(__upc_pts d, int c, unsigned long n) { __upc_memset_nb(d, c, n, 1); }
#endif
#ifdef __UPC_USE_upc_synci
__UPC_WEAK void upc_synci(void) { __upc_synci(1, 1, 1); }
#endif
#ifdef __UPC_USE_upc_synci_attempt
__UPC_WEAK int upc_synci_attempt(void) { return __upc_synci(1, 1, 0); }
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
  __upc_atomic(__upc_u(domain).o, fetch, op, (unsigned)w.t, w.o, a, b, __UPC_RELAXED);
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

#include "upcc_reduce.h"
#include "upcc_bupc.h"
#include "upcc_tools.h"

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
