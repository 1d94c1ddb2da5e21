/* upcc_nb.h: transfers that are only started. Included by upcc_lib.h and upcr.h. A handle is 0 if the transfer is complete. how: 1
 * without a handle, to be waited for by __upc_synci; 2 the source of a put may change at once; 4 a small put may travel with others. */
#ifndef __UPCC_NB_H
#define __UPCC_NB_H 1
struct __upc_transfer;
struct __upc_transfer *__upc_start_copy(unsigned, unsigned long, unsigned, unsigned long, unsigned long, int how);
struct __upc_transfer *__upc_start_get(void *, unsigned, unsigned long, unsigned long, int how);
struct __upc_transfer *__upc_start_put(unsigned, unsigned long, const void *, unsigned long, int how);
struct __upc_transfer *__upc_start_set(unsigned, unsigned long, int, unsigned long, int how);
int __upc_sync(struct __upc_transfer *, int wait);
int __upc_sync_list(struct __upc_transfer **, unsigned long, int all, int wait);
int __upc_synci(int puts, int gets, int wait);
__UPC_SF struct __upc_transfer *__upc_memcpy_nb(__upc_pts d, __upc_pts s, unsigned long n, int how)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  return __upc_start_copy((unsigned)a.t, a.o, (unsigned)b.t, b.o, n, how);
}
__UPC_SF struct __upc_transfer *__upc_memget_nb(void *d, __upc_pts s, unsigned long n, int how)
{
  struct __upc_w b = __upc_u(s);
  return __upc_start_get(d, (unsigned)b.t, b.o, n, how);
}
__UPC_SF struct __upc_transfer *__upc_memput_nb(__upc_pts d, const void *s, unsigned long n, int how)
{
  struct __upc_w a = __upc_u(d);
  return __upc_start_put((unsigned)a.t, a.o, s, n, how | __UPC_BATCHED);
}
__UPC_SF struct __upc_transfer *__upc_memset_nb(__upc_pts d, int c, unsigned long n, int how)
{
  struct __upc_w a = __upc_u(d);
  return __upc_start_set((unsigned)a.t, a.o, c, n, how);
}
#endif
