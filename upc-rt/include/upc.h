/* upc.h: the core of the UPC library. */
#ifndef _UPC_H
#define _UPC_H 1

#include <stddef.h>
#include <stdlib.h>
#include <inttypes.h>
#include <upc_types.h>

/* ends all threads of the program; callable by any thread */
void upc_global_exit(int status);

/* memory: null for a size of 0; out of memory ends the program */
shared void *upc_global_alloc(size_t nblocks, size_t nbytes);
shared void *upc_all_alloc(size_t nblocks, size_t nbytes);
shared void *upc_alloc(size_t nbytes);
#ifndef upc_local_alloc /* of UPC 1.2: upc_alloc(nblocks * nbytes) */
shared void *upc_local_alloc(size_t nblocks, size_t nbytes);
#endif
void upc_free(shared void *ptr);
void upc_all_free(shared void *ptr);

/* the parts of a pointer-to-shared */
size_t upc_threadof(shared void *ptr);
size_t upc_phaseof(shared void *ptr);
shared void *upc_resetphase(shared void *ptr);
size_t upc_addrfield(shared void *ptr);
size_t upc_affinitysize(size_t totalsize, size_t nbytes, size_t threadid);

/* locks */
typedef shared void upc_lock_t;
upc_lock_t *upc_global_lock_alloc(void);
upc_lock_t *upc_all_lock_alloc(void);
void upc_lock_free(upc_lock_t *ptr);
void upc_all_lock_free(upc_lock_t *ptr);
void upc_lock(upc_lock_t *ptr);
int upc_lock_attempt(upc_lock_t *ptr);
void upc_unlock(upc_lock_t *ptr);

/* bulk copies: each shared side is bytes of one thread */
void upc_memcpy(shared void * restrict dst, shared const void * restrict src, size_t n);
void upc_memget(void * restrict dst, shared const void * restrict src, size_t n);
void upc_memput(shared void * restrict dst, const void * restrict src, size_t n);
void upc_memset(shared void *dst, int c, size_t n);

#include <upc_nb.h>
#ifndef BUPC_DISABLE_EXTENSIONS
#include <bupc_extensions.h>
#endif

#endif
