/* bupc_collectivev.h: collective functions on private values of a scalar type of at most 8 bytes. All threads call them
 * together. */
#ifndef _BUPC_COLLECTIVEV_H
#define _BUPC_COLLECTIVEV_H 1

#include <upc.h>
#include <upc_collective.h>

#define BUPC_COLLECTIVEV_VERSION_MAJOR 1
#define BUPC_COLLECTIVEV_VERSION_MINOR 2

void __upc_allv_broadcast(void *, unsigned long, int);
void __upc_allv_gather(const void *, unsigned long, int, void *);
void __upc_allv_scatter(void *, unsigned long, int, const void *);
void __upc_allv_permute(void *, unsigned long, int);
void __upc_allv_reduce(void *, unsigned long, int, int, int);

/* 0 an unsigned, 1 a signed whole number, 2 a float */
#define __bupc_kind(T) ((T)0.5 != 0 ? 2 : (T)-1 < (T)1)

/* root's value */
#define bupc_allv_broadcast(T, value, root) __extension__({ \
  T __bupc_v = (value); \
  __upc_allv_broadcast(&__bupc_v, sizeof(T), (root)); \
  __bupc_v; })
/* element MYTHREAD of root's array */
#define bupc_allv_scatter(T, root, array) __extension__({ \
  T __bupc_v; \
  __upc_allv_scatter(&__bupc_v, sizeof(T), (root), (array)); \
  __bupc_v; })
/* everybody's value, by thread, in root's array */
#define bupc_allv_gather(T, value, root, array) __extension__({ \
  T __bupc_v = (value), *__bupc_a = (array); \
  __upc_allv_gather(&__bupc_v, sizeof(T), (root), __bupc_a); \
  (void)0; })
/* ... in everybody's array */
#define bupc_allv_gather_all(T, value, array) bupc_allv_gather(T, value, -1, array)
/* the value of the thread that names me */
#define bupc_allv_permute(T, value, tothread) __extension__({ \
  T __bupc_v = (value); \
  __upc_allv_permute(&__bupc_v, sizeof(T), (tothread)); \
  __bupc_v; })
/* all values combined by an operation of upc_types.h: the result matters on root, on all threads, or over the threads
 * up to this one */
#define bupc_allv_reduce(T, value, root, op) ((void)(root), bupc_allv_reduce_all(T, value, op))
#define bupc_allv_reduce_all(T, value, op) __extension__({ \
  T __bupc_v = (value); \
  __upc_allv_reduce(&__bupc_v, sizeof(T), __bupc_kind(T), (op), 0); \
  __bupc_v; })
#define bupc_allv_prefix_reduce(T, value, op) __extension__({ \
  T __bupc_v = (value); \
  __upc_allv_reduce(&__bupc_v, sizeof(T), __bupc_kind(T), (op), 1); \
  __bupc_v; })

#ifdef BUPC_USE_UPC_NAMESPACE
#define upc_allv_broadcast bupc_allv_broadcast
#define upc_allv_scatter bupc_allv_scatter
#define upc_allv_gather bupc_allv_gather
#define upc_allv_gather_all bupc_allv_gather_all
#define upc_allv_permute bupc_allv_permute
#define upc_allv_reduce bupc_allv_reduce
#define upc_allv_reduce_all bupc_allv_reduce_all
#define upc_allv_prefix_reduce bupc_allv_prefix_reduce
#endif

#endif
