/* upc_collective.h: functions that all threads call together, with the same arguments. */
#ifndef _UPC_COLLECTIVE_H
#define _UPC_COLLECTIVE_H 1

#include <stddef.h>
#include <upc_types.h>

#include <upcr_preinclude/upc_collective_bits.h>

/* n bytes a block; distributed sides start on thread 0 */
void upc_all_broadcast(shared void * restrict dst, shared const void * restrict src, size_t nbytes, upc_flag_t flags);
void upc_all_scatter(shared void * restrict dst, shared const void * restrict src, size_t nbytes, upc_flag_t flags);
void upc_all_gather(shared void * restrict dst, shared const void * restrict src, size_t nbytes, upc_flag_t flags);
void upc_all_gather_all(shared void * restrict dst, shared const void * restrict src, size_t nbytes, upc_flag_t flags);
void upc_all_exchange(shared void * restrict dst, shared const void * restrict src, size_t nbytes, upc_flag_t flags);
void upc_all_permute(shared void * restrict dst, shared const void * restrict src, shared const int * restrict perm,
                     size_t nbytes, upc_flag_t flags);

/* src is shared [blk_size] T[nelems] ([] if 0) from its phase on; dst is one object, or laid out like src (prefix) */
void upc_all_reduceC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed char (*func)(signed char, signed char), upc_flag_t flags);
void upc_all_prefix_reduceC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed char (*func)(signed char, signed char), upc_flag_t flags);
void upc_all_reduceUC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned char (*func)(unsigned char, unsigned char), upc_flag_t flags);
void upc_all_prefix_reduceUC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned char (*func)(unsigned char, unsigned char), upc_flag_t flags);
void upc_all_reduceS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed short (*func)(signed short, signed short), upc_flag_t flags);
void upc_all_prefix_reduceS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed short (*func)(signed short, signed short), upc_flag_t flags);
void upc_all_reduceUS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned short (*func)(unsigned short, unsigned short), upc_flag_t flags);
void upc_all_prefix_reduceUS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned short (*func)(unsigned short, unsigned short), upc_flag_t flags);
void upc_all_reduceI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed int (*func)(signed int, signed int), upc_flag_t flags);
void upc_all_prefix_reduceI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed int (*func)(signed int, signed int), upc_flag_t flags);
void upc_all_reduceUI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned int (*func)(unsigned int, unsigned int), upc_flag_t flags);
void upc_all_prefix_reduceUI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned int (*func)(unsigned int, unsigned int), upc_flag_t flags);
void upc_all_reduceL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed long (*func)(signed long, signed long), upc_flag_t flags);
void upc_all_prefix_reduceL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed long (*func)(signed long, signed long), upc_flag_t flags);
void upc_all_reduceUL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned long (*func)(unsigned long, unsigned long), upc_flag_t flags);
void upc_all_prefix_reduceUL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned long (*func)(unsigned long, unsigned long), upc_flag_t flags);
void upc_all_reduceF(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, float (*func)(float, float), upc_flag_t flags);
void upc_all_prefix_reduceF(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, float (*func)(float, float), upc_flag_t flags);
void upc_all_reduceD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, double (*func)(double, double), upc_flag_t flags);
void upc_all_prefix_reduceD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, double (*func)(double, double), upc_flag_t flags);
void upc_all_reduceLD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, long double (*func)(long double, long double), upc_flag_t flags);
void upc_all_prefix_reduceLD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, long double (*func)(long double, long double), upc_flag_t flags);
/* Berkeley UPC: dst is one object on every thread, at the address of thread 0's */
void bupc_all_reduce_allC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed char (*func)(signed char, signed char), upc_flag_t flags);
void bupc_all_reduce_allUC(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned char (*func)(unsigned char, unsigned char), upc_flag_t flags);
void bupc_all_reduce_allS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed short (*func)(signed short, signed short), upc_flag_t flags);
void bupc_all_reduce_allUS(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned short (*func)(unsigned short, unsigned short), upc_flag_t flags);
void bupc_all_reduce_allI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed int (*func)(signed int, signed int), upc_flag_t flags);
void bupc_all_reduce_allUI(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned int (*func)(unsigned int, unsigned int), upc_flag_t flags);
void bupc_all_reduce_allL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, signed long (*func)(signed long, signed long), upc_flag_t flags);
void bupc_all_reduce_allUL(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, unsigned long (*func)(unsigned long, unsigned long), upc_flag_t flags);
void bupc_all_reduce_allF(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, float (*func)(float, float), upc_flag_t flags);
void bupc_all_reduce_allD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, double (*func)(double, double), upc_flag_t flags);
void bupc_all_reduce_allLD(shared void * restrict dst, shared const void * restrict src, upc_op_t op, size_t nelems,
    size_t blk_size, long double (*func)(long double, long double), upc_flag_t flags);

/* Berkeley's teams: members give the same color, in the order of relrank. A one-sided end is on the thread that its pointer names; a
 * distributed one is at the same address of every member's shared memory, a block of n bytes (or one per member). The call starts the
 * operation, bupc_coll_wait ends it. */
typedef void *bupc_team_t;
typedef void *bupc_coll_handle_t;
extern bupc_team_t bupc_team_all;
#define BUPC_TEAM_ALL (bupc_team_all)
bupc_team_t bupc_team_split(bupc_team_t parent, int color, int relrank);
bupc_coll_handle_t bupc_team_broadcast(bupc_team_t team, shared void *dst, shared const void *src, size_t nbytes, upc_flag_t flags);
bupc_coll_handle_t bupc_team_scatter(bupc_team_t team, shared void *dst, shared const void *src, size_t nbytes, upc_flag_t flags);
bupc_coll_handle_t bupc_team_gather(bupc_team_t team, shared void *dst, shared const void *src, size_t nbytes, upc_flag_t flags);
bupc_coll_handle_t bupc_team_gather_all(bupc_team_t team, shared void *dst, shared const void *src, size_t nbytes, upc_flag_t flags);
bupc_coll_handle_t bupc_team_exchange(bupc_team_t team, shared void *dst, shared const void *src, size_t nbytes, upc_flag_t flags);
void bupc_coll_wait(bupc_coll_handle_t handle);
void bupc_load_coll_tuning_file(bupc_team_t team, char *file);
void bupc_store_coll_tuning_file(bupc_team_t team, char *file);
#ifdef BUPC_USE_UPC_NAMESPACE
#define upc_team_broadcast bupc_team_broadcast
#define upc_team_exchange bupc_team_exchange
#define UPC_TEAM_ALL BUPC_TEAM_ALL
#endif

#endif
