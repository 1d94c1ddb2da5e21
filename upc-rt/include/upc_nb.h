/* upc_nb.h: copies that overlap with computation. */
#ifndef _UPC_NB_H
#define _UPC_NB_H 1

#include <stddef.h>
#include <upc_types.h>

typedef struct __upc_transfer *upc_handle_t;
#define UPC_COMPLETE_HANDLE ((upc_handle_t)0)

/* explicit handles: synchronise each exactly once, in the thread that got it */
upc_handle_t upc_memcpy_nb(shared void * restrict dst, shared const void * restrict src, size_t n);
upc_handle_t upc_memget_nb(void * restrict dst, shared const void * restrict src, size_t n);
upc_handle_t upc_memput_nb(shared void * restrict dst, const void * restrict src, size_t n);
upc_handle_t upc_memset_nb(shared void *dst, int c, size_t n);
void upc_sync(upc_handle_t handle);
int upc_sync_attempt(upc_handle_t handle);

/* implicit handle: all of the calling thread's together */
void upc_memcpy_nbi(shared void * restrict dst, shared const void * restrict src, size_t n);
void upc_memget_nbi(void * restrict dst, shared const void * restrict src, size_t n);
void upc_memput_nbi(shared void * restrict dst, const void * restrict src, size_t n);
void upc_memset_nbi(shared void *dst, int c, size_t n);
void upc_synci(void);
int upc_synci_attempt(void);

#endif
