#ifndef OWN_COLLECTIVE_H
#define OWN_COLLECTIVE_H
#include <upc.h>
#define OWN_COLLECTIVE 1
void upc_all_broadcast(shared void *restrict to, const shared void *restrict from, size_t n, upc_flag_t flags);
#endif
