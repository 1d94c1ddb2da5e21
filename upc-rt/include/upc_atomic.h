/* upc_atomic.h: atomic operations on shared objects. */
#ifndef _UPC_ATOMIC_H
#define _UPC_ATOMIC_H 1

#include <stddef.h>
#include <upc_types.h>

#include <upcr_preinclude/upc_atomic_bits.h>

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
