/* upc_castable.h: shared objects that the calling thread can address directly. */
#ifndef _UPC_CASTABLE_H
#define _UPC_CASTABLE_H 1

#include <stddef.h>
#include <upc_types.h>

#define UPC_CASTABLE_ALL_ALLOC    1
#define UPC_CASTABLE_GLOBAL_ALLOC 2
#define UPC_CASTABLE_ALLOC        4
#define UPC_CASTABLE_STATIC       8
#define UPC_CASTABLE_ALL          15

typedef struct upc_thread_info {
  int guaranteedCastable;   /* or of UPC_CASTABLE_*: memory of these kinds with affinity to the thread */
  int probablyCastable;
} upc_thread_info_t;

void *upc_cast(const shared void *ptr);
upc_thread_info_t upc_thread_info(size_t threadId);

#endif
