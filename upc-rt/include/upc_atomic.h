/* upc_atomic.h: atomic operations on shared objects. */
#ifndef _UPC_ATOMIC_H
#define _UPC_ATOMIC_H 1

#include <stddef.h>
#include <upc_types.h>

/* operations beyond those of upc_types.h */
#define UPC_GET   (1 << 16)
#define UPC_SET   (1 << 17)
#define UPC_CSWAP (1 << 18)
#define UPC_SUB   (1 << 19)
#define UPC_INC   (1 << 20)
#define UPC_DEC   (1 << 21)

typedef int upc_atomichint_t;
#define UPC_ATOMIC_HINT_DEFAULT    0
#define UPC_ATOMIC_HINT_LATENCY    1
#define UPC_ATOMIC_HINT_THROUGHPUT 2
#define UPC_ATOMIC_HINT_FAVOR_NEAR 4
#define UPC_ATOMIC_HINT_FAVOR_FAR  8

/* a domain: one type and the operations used on it */
typedef shared void upc_atomicdomain_t;
upc_atomicdomain_t *upc_all_atomicdomain_alloc(upc_type_t type, upc_op_t ops, upc_atomichint_t hints);
void upc_all_atomicdomain_free(upc_atomicdomain_t *ptr);

void upc_atomic_strict(upc_atomicdomain_t *domain, void * restrict fetch_ptr, upc_op_t op, shared void * restrict target,
                       const void * restrict operand1, const void * restrict operand2);
void upc_atomic_relaxed(upc_atomicdomain_t *domain, void * restrict fetch_ptr, upc_op_t op, shared void * restrict target,
                        const void * restrict operand1, const void * restrict operand2);
int upc_atomic_isfast(upc_type_t type, upc_op_t ops, shared void *addr);

#endif
