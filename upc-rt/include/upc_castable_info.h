/* upc_castable_info.h: the types of upc_castable.h. Plain C. */
#ifndef _UPC_CASTABLE_INFO_H
#define _UPC_CASTABLE_INFO_H 1

#define UPC_CASTABLE_ALL_ALLOC    1
#define UPC_CASTABLE_GLOBAL_ALLOC 2
#define UPC_CASTABLE_ALLOC        4
#define UPC_CASTABLE_STATIC       8
#define UPC_CASTABLE_ALL          15

typedef struct upc_thread_info {
  int guaranteedCastable;   /* or of UPC_CASTABLE_*: memory of these kinds with affinity to the thread */
  int probablyCastable;
} upc_thread_info_t;

#endif
