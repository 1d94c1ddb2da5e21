/* upc_io.h: files read and written by all threads together. */
#ifndef _UPC_IO_H
#define _UPC_IO_H 1

#include <stddef.h>
#include <stdint.h>
#include <upc_types.h>

typedef int64_t upc_off_t;
typedef shared void upc_file_t;
#define __UPC_IO_TYPEDEFS__ 1
typedef struct upc_hint { const char *key, *value; } upc_hint_t;
typedef struct upc_local_memvec { void *baseaddr; size_t len; } upc_local_memvec_t;
typedef struct upc_shared_memvec { shared void *baseaddr; size_t blocksize; size_t len; } upc_shared_memvec_t;
typedef struct upc_filevec { upc_off_t offset; size_t len; } upc_filevec_t;

#include <upcr_preinclude/upc_io_bits.h>

upc_file_t *upc_all_fopen(const char *fname, int flags, size_t numhints, struct upc_hint const *hints);
int upc_all_fclose(upc_file_t *fd);
int upc_all_fsync(upc_file_t *fd);
upc_off_t upc_all_fseek(upc_file_t *fd, upc_off_t offset, int origin);
int upc_all_fset_size(upc_file_t *fd, upc_off_t size);
upc_off_t upc_all_fget_size(upc_file_t *fd);
int upc_all_fpreallocate(upc_file_t *fd, upc_off_t size);
int upc_all_fcntl(upc_file_t *fd, int cmd, void *arg);

/* the number of bytes transferred, or -1 */
upc_off_t upc_all_fread_local(upc_file_t *fd, void *buffer, size_t size, size_t nmemb, upc_flag_t flags);
upc_off_t upc_all_fwrite_local(upc_file_t *fd, void *buffer, size_t size, size_t nmemb, upc_flag_t flags);
upc_off_t upc_all_fread_shared(upc_file_t *fd, shared void *buffer, size_t blocksize, size_t size, size_t nmemb,
                               upc_flag_t flags);
upc_off_t upc_all_fwrite_shared(upc_file_t *fd, shared void *buffer, size_t blocksize, size_t size, size_t nmemb,
                                upc_flag_t flags);
upc_off_t upc_all_fread_list_local(upc_file_t *fd, size_t memvec_entries, struct upc_local_memvec const *memvec,
                                   size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
upc_off_t upc_all_fwrite_list_local(upc_file_t *fd, size_t memvec_entries, struct upc_local_memvec const *memvec,
                                    size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
upc_off_t upc_all_fread_list_shared(upc_file_t *fd, size_t memvec_entries, struct upc_shared_memvec const *memvec,
                                    size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
upc_off_t upc_all_fwrite_list_shared(upc_file_t *fd, size_t memvec_entries, struct upc_shared_memvec const *memvec,
                                     size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);

/* the same, asynchronous: one may be under way on a file; wait and test give its result */
void upc_all_fread_local_async(upc_file_t *fd, void *buffer, size_t size, size_t nmemb, upc_flag_t flags);
void upc_all_fwrite_local_async(upc_file_t *fd, void *buffer, size_t size, size_t nmemb, upc_flag_t flags);
void upc_all_fread_shared_async(upc_file_t *fd, shared void *buffer, size_t blocksize, size_t size, size_t nmemb,
                                upc_flag_t flags);
void upc_all_fwrite_shared_async(upc_file_t *fd, shared void *buffer, size_t blocksize, size_t size, size_t nmemb,
                                 upc_flag_t flags);
void upc_all_fread_list_local_async(upc_file_t *fd, size_t memvec_entries, struct upc_local_memvec const *memvec,
                                    size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
void upc_all_fwrite_list_local_async(upc_file_t *fd, size_t memvec_entries, struct upc_local_memvec const *memvec,
                                     size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
void upc_all_fread_list_shared_async(upc_file_t *fd, size_t memvec_entries, struct upc_shared_memvec const *memvec,
                                     size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
void upc_all_fwrite_list_shared_async(upc_file_t *fd, size_t memvec_entries, struct upc_shared_memvec const *memvec,
                                      size_t filevec_entries, struct upc_filevec const *filevec, upc_flag_t flags);
upc_off_t upc_all_fwait_async(upc_file_t *fd);
upc_off_t upc_all_ftest_async(upc_file_t *fd, int *flag);

#endif
