/* upc_io_bits.h: the constants of upc_io.h. Plain C. */
#ifndef _UPC_IO_BITS_H
#define _UPC_IO_BITS_H 1

#include "../upc_types.h"

/* flags of upc_all_fopen: one of the first three, one of the next two */
#define UPC_RDONLY          (1 << 0)
#define UPC_WRONLY          (1 << 1)
#define UPC_RDWR            (1 << 2)
#define UPC_INDIVIDUAL_FP   (1 << 3)
#define UPC_COMMON_FP       (1 << 4)
#define UPC_APPEND          (1 << 5)
#define UPC_CREATE          (1 << 6)
#define UPC_EXCL            (1 << 7)
#define UPC_STRONG_CA       (1 << 8)
#define UPC_TRUNC           (1 << 9)
#define UPC_DELETE_ON_CLOSE (1 << 10)

/* origins of upc_all_fseek */
#define UPC_SEEK_SET 1
#define UPC_SEEK_CUR 2
#define UPC_SEEK_END 4

/* commands of upc_all_fcntl */
#define UPC_GET_CA_SEMANTICS        (1 << 0)
#define UPC_SET_WEAK_CA_SEMANTICS   (1 << 1)
#define UPC_SET_STRONG_CA_SEMANTICS (1 << 2)
#define UPC_GET_FP                  (1 << 3)
#define UPC_SET_COMMON_FP           (1 << 4)
#define UPC_SET_INDIVIDUAL_FP       (1 << 5)
#define UPC_GET_FL                  (1 << 6)
#define UPC_GET_FN                  (1 << 7)
#define UPC_GET_HINTS               (1 << 8)
#define UPC_SET_HINT                (1 << 9)
#define UPC_ASYNC_OUTSTANDING       (1 << 10)

/* a flag beside those of upc_types.h: the transfer is asynchronous */
#define UPC_ASYNC (1 << 6)

#endif
