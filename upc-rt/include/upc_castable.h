/* upc_castable.h: shared objects that the calling thread can address directly. */
#ifndef _UPC_CASTABLE_H
#define _UPC_CASTABLE_H 1

#include <stddef.h>
#include <upc_types.h>
#include <upc_castable_info.h>

void *upc_cast(const shared void *ptr);
upc_thread_info_t upc_thread_info(size_t threadId);

#endif
