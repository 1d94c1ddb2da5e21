/* upcr_lib.h: the libraries of UPC for clients of upcr.h, which includes it: collectives, atomics, semaphores, copies of many pieces,
 * files, teams. Each function of upcc_lib.h becomes a static one here (files that use few of them stay small) with the name that
 * Berkeley's runtime has for it, _upcr_... or _bupc_..., and macros with the names that translated and hand-written C uses.
 */
#ifndef UPCR_LIB_H
#define UPCR_LIB_H 1

#include "upcr_preinclude/upc_atomic_bits.h"
#include "upcr_preinclude/upc_collective_bits.h"
#include "upcr_preinclude/upc_io_bits.h"
#include "upcr_preinclude/bupc_extensions_bits.h"

/* ---- types ---- */
typedef uint64_t upc_tick_t;
typedef uint64_t bupc_tick_t;
#define UPC_TICK_MAX UINT64_MAX
#define UPC_TICK_MIN ((upc_tick_t)0)
#define BUPC_TICK_MAX UPC_TICK_MAX
#define BUPC_TICK_MIN UPC_TICK_MIN
typedef int64_t upc_off_t;
typedef struct upc_hint { const char *key, *value; } upc_hint_t;
typedef struct upc_local_memvec { void *baseaddr; size_t len; } upc_local_memvec_t;
typedef struct upc_shared_memvec { upcr_shared_ptr_t baseaddr; size_t blocksize; size_t len; } upc_shared_memvec_t;
typedef struct upc_filevec { upc_off_t offset; size_t len; } upc_filevec_t;
typedef struct { void *addr; size_t len; } bupc_pmemvec_t;
typedef struct { upcr_shared_ptr_t addr; size_t len; } bupc_smemvec_t;
typedef void *bupc_team_t;
typedef void *bupc_coll_handle_t;
extern bupc_team_t bupc_team_all;
#define BUPC_TEAM_ALL (bupc_team_all)

/* ---- the functions ---- */
#define __UPC_WEAK static __attribute__((__unused__))
#define __UPC_USE_upc_all_broadcast 1
#define upc_all_broadcast _upcr_all_broadcast
#define __UPC_USE_upc_all_scatter 1
#define upc_all_scatter _upcr_all_scatter
#define __UPC_USE_upc_all_gather 1
#define upc_all_gather _upcr_all_gather
#define __UPC_USE_upc_all_gather_all 1
#define upc_all_gather_all _upcr_all_gather_all
#define __UPC_USE_upc_all_exchange 1
#define upc_all_exchange _upcr_all_exchange
#define __UPC_USE_upc_all_permute 1
#define upc_all_permute _upcr_all_permute
#define __UPC_USE_upc_all_fopen 1
#define upc_all_fopen _upcr_all_fopen
#define __UPC_USE_upc_all_fclose 1
#define upc_all_fclose _upcr_all_fclose
#define __UPC_USE_upc_all_fsync 1
#define upc_all_fsync _upcr_all_fsync
#define __UPC_USE_upc_all_fseek 1
#define upc_all_fseek _upcr_all_fseek
#define __UPC_USE_upc_all_fset_size 1
#define upc_all_fset_size _upcr_all_fset_size
#define __UPC_USE_upc_all_fget_size 1
#define upc_all_fget_size _upcr_all_fget_size
#define __UPC_USE_upc_all_fpreallocate 1
#define upc_all_fpreallocate _upcr_all_fpreallocate
#define __UPC_USE_upc_all_fcntl 1
#define upc_all_fcntl _upcr_all_fcntl
#define __UPC_USE_upc_all_fread_local 1
#define upc_all_fread_local _upcr_all_fread_local
#define __UPC_USE_upc_all_fread_local_async 1
#define upc_all_fread_local_async _upcr_all_fread_local_async
#define __UPC_USE_upc_all_fread_shared 1
#define upc_all_fread_shared _upcr_all_fread_shared
#define __UPC_USE_upc_all_fread_shared_async 1
#define upc_all_fread_shared_async _upcr_all_fread_shared_async
#define __UPC_USE_upc_all_fread_list_local 1
#define upc_all_fread_list_local _upcr_all_fread_list_local
#define __UPC_USE_upc_all_fread_list_local_async 1
#define upc_all_fread_list_local_async _upcr_all_fread_list_local_async
#define __UPC_USE_upc_all_fread_list_shared 1
#define upc_all_fread_list_shared _upcr_all_fread_list_shared
#define __UPC_USE_upc_all_fread_list_shared_async 1
#define upc_all_fread_list_shared_async _upcr_all_fread_list_shared_async
#define __UPC_USE_upc_all_fwrite_local 1
#define upc_all_fwrite_local _upcr_all_fwrite_local
#define __UPC_USE_upc_all_fwrite_local_async 1
#define upc_all_fwrite_local_async _upcr_all_fwrite_local_async
#define __UPC_USE_upc_all_fwrite_shared 1
#define upc_all_fwrite_shared _upcr_all_fwrite_shared
#define __UPC_USE_upc_all_fwrite_shared_async 1
#define upc_all_fwrite_shared_async _upcr_all_fwrite_shared_async
#define __UPC_USE_upc_all_fwrite_list_local 1
#define upc_all_fwrite_list_local _upcr_all_fwrite_list_local
#define __UPC_USE_upc_all_fwrite_list_local_async 1
#define upc_all_fwrite_list_local_async _upcr_all_fwrite_list_local_async
#define __UPC_USE_upc_all_fwrite_list_shared 1
#define upc_all_fwrite_list_shared _upcr_all_fwrite_list_shared
#define __UPC_USE_upc_all_fwrite_list_shared_async 1
#define upc_all_fwrite_list_shared_async _upcr_all_fwrite_list_shared_async
#define __UPC_USE_upc_all_fwait_async 1
#define upc_all_fwait_async _upcr_all_fwait_async
#define __UPC_USE_upc_all_ftest_async 1
#define upc_all_ftest_async _upcr_all_ftest_async
#define __UPC_USE_upc_all_atomicdomain_alloc 1
#define upc_all_atomicdomain_alloc _upcr_all_atomicdomain_alloc
#define __UPC_USE_upc_all_atomicdomain_free 1
#define upc_all_atomicdomain_free _upcr_all_atomicdomain_free
#define __UPC_USE_upc_atomic_strict 1
#define upc_atomic_strict _upcr_atomic_strict
#define __UPC_USE_upc_atomic_relaxed 1
#define upc_atomic_relaxed _upcr_atomic_relaxed
#define __UPC_USE_upc_atomic_isfast 1
#define upc_atomic_isfast _upcr_atomic_isfast
#define __UPC_USE_bupc_sem_alloc 1
#define bupc_sem_alloc _bupc_sem_alloc
#define __UPC_USE_bupc_sem_free 1
#define bupc_sem_free _bupc_sem_free
#define __UPC_USE_bupc_sem_post 1
#define bupc_sem_post _bupc_sem_post
#define __UPC_USE_bupc_sem_postN 1
#define bupc_sem_postN _bupc_sem_postN
#define __UPC_USE_bupc_sem_wait 1
#define bupc_sem_wait _bupc_sem_wait
#define __UPC_USE_bupc_sem_waitN 1
#define bupc_sem_waitN _bupc_sem_waitN
#define __UPC_USE_bupc_sem_try 1
#define bupc_sem_try _bupc_sem_try
#define __UPC_USE_bupc_sem_tryN 1
#define bupc_sem_tryN _bupc_sem_tryN
#define __UPC_USE_bupc_memput_signal 1
#define bupc_memput_signal _bupc_memput_signal
#define __UPC_USE_bupc_memput_signal_async 1
#define bupc_memput_signal_async _bupc_memput_signal_async
#define __UPC_USE_bupc_local_to_shared 1
#define bupc_local_to_shared _bupc_local_to_shared
#define __UPC_USE_bupc_ptradd 1
#define bupc_ptradd _bupc_ptradd
#define __UPC_USE_bupc_dump_shared 1
#define bupc_dump_shared _bupc_dump_shared
#define __UPC_USE_bupc_inverse_cast 1
#define bupc_inverse_cast _bupc_inverse_cast
#define __UPC_USE_bupc_memcpy_vlist 1
#define bupc_memcpy_vlist _bupc_memcpy_vlist
#define __UPC_USE_bupc_memcpy_vlist_async 1
#define bupc_memcpy_vlist_async _bupc_memcpy_vlist_async
#define __UPC_USE_bupc_memcpy_ilist 1
#define bupc_memcpy_ilist _bupc_memcpy_ilist
#define __UPC_USE_bupc_memcpy_ilist_async 1
#define bupc_memcpy_ilist_async _bupc_memcpy_ilist_async
#define __UPC_USE_bupc_memcpy_fstrided 1
#define bupc_memcpy_fstrided _bupc_memcpy_fstrided
#define __UPC_USE_bupc_memcpy_fstrided_async 1
#define bupc_memcpy_fstrided_async _bupc_memcpy_fstrided_async
#define __UPC_USE_bupc_memcpy_strided 1
#define bupc_memcpy_strided _bupc_memcpy_strided
#define __UPC_USE_bupc_memcpy_strided_async 1
#define bupc_memcpy_strided_async _bupc_memcpy_strided_async
#define __UPC_USE_bupc_memput_vlist 1
#define bupc_memput_vlist _bupc_memput_vlist
#define __UPC_USE_bupc_memput_vlist_async 1
#define bupc_memput_vlist_async _bupc_memput_vlist_async
#define __UPC_USE_bupc_memput_ilist 1
#define bupc_memput_ilist _bupc_memput_ilist
#define __UPC_USE_bupc_memput_ilist_async 1
#define bupc_memput_ilist_async _bupc_memput_ilist_async
#define __UPC_USE_bupc_memput_fstrided 1
#define bupc_memput_fstrided _bupc_memput_fstrided
#define __UPC_USE_bupc_memput_fstrided_async 1
#define bupc_memput_fstrided_async _bupc_memput_fstrided_async
#define __UPC_USE_bupc_memput_strided 1
#define bupc_memput_strided _bupc_memput_strided
#define __UPC_USE_bupc_memput_strided_async 1
#define bupc_memput_strided_async _bupc_memput_strided_async
#define __UPC_USE_bupc_memget_vlist 1
#define bupc_memget_vlist _bupc_memget_vlist
#define __UPC_USE_bupc_memget_vlist_async 1
#define bupc_memget_vlist_async _bupc_memget_vlist_async
#define __UPC_USE_bupc_memget_ilist 1
#define bupc_memget_ilist _bupc_memget_ilist
#define __UPC_USE_bupc_memget_ilist_async 1
#define bupc_memget_ilist_async _bupc_memget_ilist_async
#define __UPC_USE_bupc_memget_fstrided 1
#define bupc_memget_fstrided _bupc_memget_fstrided
#define __UPC_USE_bupc_memget_fstrided_async 1
#define bupc_memget_fstrided_async _bupc_memget_fstrided_async
#define __UPC_USE_bupc_memget_strided 1
#define bupc_memget_strided _bupc_memget_strided
#define __UPC_USE_bupc_memget_strided_async 1
#define bupc_memget_strided_async _bupc_memget_strided_async
#define __UPC_USE_bupc_team_split 1
#define bupc_team_split _upcr_team_split
#define __UPC_USE_bupc_team_broadcast 1
#define bupc_team_broadcast _upcr_team_broadcast
#define __UPC_USE_bupc_team_scatter 1
#define bupc_team_scatter _upcr_team_scatter
#define __UPC_USE_bupc_team_gather 1
#define bupc_team_gather _upcr_team_gather
#define __UPC_USE_bupc_team_gather_all 1
#define bupc_team_gather_all _upcr_team_gather_all
#define __UPC_USE_bupc_team_exchange 1
#define bupc_team_exchange _upcr_team_exchange
#define __UPC_USE_bupc_cast 1
#define bupc_cast _bupc_cast
#define __UPC_USE_bupc_castable 1
#define bupc_castable _bupc_castable
#define __UPC_USE_bupc_thread_castable 1
#define bupc_thread_castable _bupc_thread_castable
#define __UPC_USE_bupc_thread_distance 1
#define bupc_thread_distance _bupc_thread_distance
#define __UPC_USE_bupc_system 1
#define bupc_system _bupc_system
#define __UPC_USE_bupc_tick_granularityus 1
#define bupc_tick_granularityus _bupc_tick_granularityus
#define __UPC_USE_bupc_tick_overheadus 1
#define bupc_tick_overheadus _bupc_tick_overheadus
#define __UPC_USE_bupc_coll_wait 1
#define bupc_coll_wait _bupc_coll_wait
#define __UPC_USE_bupc_load_coll_tuning_file 1
#define bupc_load_coll_tuning_file _bupc_load_coll_tuning_file
#define __UPC_USE_bupc_store_coll_tuning_file 1
#define bupc_store_coll_tuning_file _bupc_store_coll_tuning_file
#define __UPC_USE_pupc_create_event 1
#define pupc_create_event _pupc_create_event
#define __UPC_USE_pupc_control 1
#define pupc_control _pupc_control
#define __UPC_USE_pupc_event_start 1
#define pupc_event_start _pupc_event_start
#define __UPC_USE_pupc_event_end 1
#define pupc_event_end _pupc_event_end
#define __UPC_USE_pupc_event_atomic 1
#define pupc_event_atomic _pupc_event_atomic
#define __UPC_USE_upc_all_reduceC 1
#define upc_all_reduceC __upcr_all_reduceC
#define __UPC_USE_upc_all_prefix_reduceC 1
#define upc_all_prefix_reduceC _upcr_all_prefix_reduceC
#define __UPC_USE_upc_all_reduceUC 1
#define upc_all_reduceUC __upcr_all_reduceUC
#define __UPC_USE_upc_all_prefix_reduceUC 1
#define upc_all_prefix_reduceUC _upcr_all_prefix_reduceUC
#define __UPC_USE_upc_all_reduceS 1
#define upc_all_reduceS __upcr_all_reduceS
#define __UPC_USE_upc_all_prefix_reduceS 1
#define upc_all_prefix_reduceS _upcr_all_prefix_reduceS
#define __UPC_USE_upc_all_reduceUS 1
#define upc_all_reduceUS __upcr_all_reduceUS
#define __UPC_USE_upc_all_prefix_reduceUS 1
#define upc_all_prefix_reduceUS _upcr_all_prefix_reduceUS
#define __UPC_USE_upc_all_reduceI 1
#define upc_all_reduceI __upcr_all_reduceI
#define __UPC_USE_upc_all_prefix_reduceI 1
#define upc_all_prefix_reduceI _upcr_all_prefix_reduceI
#define __UPC_USE_upc_all_reduceUI 1
#define upc_all_reduceUI __upcr_all_reduceUI
#define __UPC_USE_upc_all_prefix_reduceUI 1
#define upc_all_prefix_reduceUI _upcr_all_prefix_reduceUI
#define __UPC_USE_upc_all_reduceL 1
#define upc_all_reduceL __upcr_all_reduceL
#define __UPC_USE_upc_all_prefix_reduceL 1
#define upc_all_prefix_reduceL _upcr_all_prefix_reduceL
#define __UPC_USE_upc_all_reduceUL 1
#define upc_all_reduceUL __upcr_all_reduceUL
#define __UPC_USE_upc_all_prefix_reduceUL 1
#define upc_all_prefix_reduceUL _upcr_all_prefix_reduceUL
#define __UPC_USE_upc_all_reduceF 1
#define upc_all_reduceF __upcr_all_reduceF
#define __UPC_USE_upc_all_prefix_reduceF 1
#define upc_all_prefix_reduceF _upcr_all_prefix_reduceF
#define __UPC_USE_upc_all_reduceD 1
#define upc_all_reduceD __upcr_all_reduceD
#define __UPC_USE_upc_all_prefix_reduceD 1
#define upc_all_prefix_reduceD _upcr_all_prefix_reduceD
#define __UPC_USE_upc_all_reduceLD 1
#define upc_all_reduceLD __upcr_all_reduceLD
#define __UPC_USE_upc_all_prefix_reduceLD 1
#define upc_all_prefix_reduceLD _upcr_all_prefix_reduceLD
#include "upcc_lib.h"
#undef __UPC_USE_upc_all_broadcast
#undef upc_all_broadcast
#undef __UPC_USE_upc_all_scatter
#undef upc_all_scatter
#undef __UPC_USE_upc_all_gather
#undef upc_all_gather
#undef __UPC_USE_upc_all_gather_all
#undef upc_all_gather_all
#undef __UPC_USE_upc_all_exchange
#undef upc_all_exchange
#undef __UPC_USE_upc_all_permute
#undef upc_all_permute
#undef __UPC_USE_upc_all_fopen
#undef upc_all_fopen
#undef __UPC_USE_upc_all_fclose
#undef upc_all_fclose
#undef __UPC_USE_upc_all_fsync
#undef upc_all_fsync
#undef __UPC_USE_upc_all_fseek
#undef upc_all_fseek
#undef __UPC_USE_upc_all_fset_size
#undef upc_all_fset_size
#undef __UPC_USE_upc_all_fget_size
#undef upc_all_fget_size
#undef __UPC_USE_upc_all_fpreallocate
#undef upc_all_fpreallocate
#undef __UPC_USE_upc_all_fcntl
#undef upc_all_fcntl
#undef __UPC_USE_upc_all_fread_local
#undef upc_all_fread_local
#undef __UPC_USE_upc_all_fread_local_async
#undef upc_all_fread_local_async
#undef __UPC_USE_upc_all_fread_shared
#undef upc_all_fread_shared
#undef __UPC_USE_upc_all_fread_shared_async
#undef upc_all_fread_shared_async
#undef __UPC_USE_upc_all_fread_list_local
#undef upc_all_fread_list_local
#undef __UPC_USE_upc_all_fread_list_local_async
#undef upc_all_fread_list_local_async
#undef __UPC_USE_upc_all_fread_list_shared
#undef upc_all_fread_list_shared
#undef __UPC_USE_upc_all_fread_list_shared_async
#undef upc_all_fread_list_shared_async
#undef __UPC_USE_upc_all_fwrite_local
#undef upc_all_fwrite_local
#undef __UPC_USE_upc_all_fwrite_local_async
#undef upc_all_fwrite_local_async
#undef __UPC_USE_upc_all_fwrite_shared
#undef upc_all_fwrite_shared
#undef __UPC_USE_upc_all_fwrite_shared_async
#undef upc_all_fwrite_shared_async
#undef __UPC_USE_upc_all_fwrite_list_local
#undef upc_all_fwrite_list_local
#undef __UPC_USE_upc_all_fwrite_list_local_async
#undef upc_all_fwrite_list_local_async
#undef __UPC_USE_upc_all_fwrite_list_shared
#undef upc_all_fwrite_list_shared
#undef __UPC_USE_upc_all_fwrite_list_shared_async
#undef upc_all_fwrite_list_shared_async
#undef __UPC_USE_upc_all_fwait_async
#undef upc_all_fwait_async
#undef __UPC_USE_upc_all_ftest_async
#undef upc_all_ftest_async
#undef __UPC_USE_upc_all_atomicdomain_alloc
#undef upc_all_atomicdomain_alloc
#undef __UPC_USE_upc_all_atomicdomain_free
#undef upc_all_atomicdomain_free
#undef __UPC_USE_upc_atomic_strict
#undef upc_atomic_strict
#undef __UPC_USE_upc_atomic_relaxed
#undef upc_atomic_relaxed
#undef __UPC_USE_upc_atomic_isfast
#undef upc_atomic_isfast
#undef __UPC_USE_bupc_sem_alloc
#undef bupc_sem_alloc
#undef __UPC_USE_bupc_sem_free
#undef bupc_sem_free
#undef __UPC_USE_bupc_sem_post
#undef bupc_sem_post
#undef __UPC_USE_bupc_sem_postN
#undef bupc_sem_postN
#undef __UPC_USE_bupc_sem_wait
#undef bupc_sem_wait
#undef __UPC_USE_bupc_sem_waitN
#undef bupc_sem_waitN
#undef __UPC_USE_bupc_sem_try
#undef bupc_sem_try
#undef __UPC_USE_bupc_sem_tryN
#undef bupc_sem_tryN
#undef __UPC_USE_bupc_memput_signal
#undef bupc_memput_signal
#undef __UPC_USE_bupc_memput_signal_async
#undef bupc_memput_signal_async
#undef __UPC_USE_bupc_local_to_shared
#undef bupc_local_to_shared
#undef __UPC_USE_bupc_ptradd
#undef bupc_ptradd
#undef __UPC_USE_bupc_dump_shared
#undef bupc_dump_shared
#undef __UPC_USE_bupc_inverse_cast
#undef bupc_inverse_cast
#undef __UPC_USE_bupc_memcpy_vlist
#undef bupc_memcpy_vlist
#undef __UPC_USE_bupc_memcpy_vlist_async
#undef bupc_memcpy_vlist_async
#undef __UPC_USE_bupc_memcpy_ilist
#undef bupc_memcpy_ilist
#undef __UPC_USE_bupc_memcpy_ilist_async
#undef bupc_memcpy_ilist_async
#undef __UPC_USE_bupc_memcpy_fstrided
#undef bupc_memcpy_fstrided
#undef __UPC_USE_bupc_memcpy_fstrided_async
#undef bupc_memcpy_fstrided_async
#undef __UPC_USE_bupc_memcpy_strided
#undef bupc_memcpy_strided
#undef __UPC_USE_bupc_memcpy_strided_async
#undef bupc_memcpy_strided_async
#undef __UPC_USE_bupc_memput_vlist
#undef bupc_memput_vlist
#undef __UPC_USE_bupc_memput_vlist_async
#undef bupc_memput_vlist_async
#undef __UPC_USE_bupc_memput_ilist
#undef bupc_memput_ilist
#undef __UPC_USE_bupc_memput_ilist_async
#undef bupc_memput_ilist_async
#undef __UPC_USE_bupc_memput_fstrided
#undef bupc_memput_fstrided
#undef __UPC_USE_bupc_memput_fstrided_async
#undef bupc_memput_fstrided_async
#undef __UPC_USE_bupc_memput_strided
#undef bupc_memput_strided
#undef __UPC_USE_bupc_memput_strided_async
#undef bupc_memput_strided_async
#undef __UPC_USE_bupc_memget_vlist
#undef bupc_memget_vlist
#undef __UPC_USE_bupc_memget_vlist_async
#undef bupc_memget_vlist_async
#undef __UPC_USE_bupc_memget_ilist
#undef bupc_memget_ilist
#undef __UPC_USE_bupc_memget_ilist_async
#undef bupc_memget_ilist_async
#undef __UPC_USE_bupc_memget_fstrided
#undef bupc_memget_fstrided
#undef __UPC_USE_bupc_memget_fstrided_async
#undef bupc_memget_fstrided_async
#undef __UPC_USE_bupc_memget_strided
#undef bupc_memget_strided
#undef __UPC_USE_bupc_memget_strided_async
#undef bupc_memget_strided_async
#undef __UPC_USE_bupc_team_split
#undef bupc_team_split
#undef __UPC_USE_bupc_team_broadcast
#undef bupc_team_broadcast
#undef __UPC_USE_bupc_team_scatter
#undef bupc_team_scatter
#undef __UPC_USE_bupc_team_gather
#undef bupc_team_gather
#undef __UPC_USE_bupc_team_gather_all
#undef bupc_team_gather_all
#undef __UPC_USE_bupc_team_exchange
#undef bupc_team_exchange
#undef __UPC_USE_bupc_cast
#undef bupc_cast
#undef __UPC_USE_bupc_castable
#undef bupc_castable
#undef __UPC_USE_bupc_thread_castable
#undef bupc_thread_castable
#undef __UPC_USE_bupc_thread_distance
#undef bupc_thread_distance
#undef __UPC_USE_bupc_system
#undef bupc_system
#undef __UPC_USE_bupc_tick_granularityus
#undef bupc_tick_granularityus
#undef __UPC_USE_bupc_tick_overheadus
#undef bupc_tick_overheadus
#undef __UPC_USE_bupc_coll_wait
#undef bupc_coll_wait
#undef __UPC_USE_bupc_load_coll_tuning_file
#undef bupc_load_coll_tuning_file
#undef __UPC_USE_bupc_store_coll_tuning_file
#undef bupc_store_coll_tuning_file
#undef __UPC_USE_pupc_create_event
#undef pupc_create_event
#undef __UPC_USE_pupc_control
#undef pupc_control
#undef __UPC_USE_pupc_event_start
#undef pupc_event_start
#undef __UPC_USE_pupc_event_end
#undef pupc_event_end
#undef __UPC_USE_pupc_event_atomic
#undef pupc_event_atomic
#undef __UPC_USE_upc_all_reduceC
#undef upc_all_reduceC
#undef __UPC_USE_upc_all_prefix_reduceC
#undef upc_all_prefix_reduceC
#undef __UPC_USE_upc_all_reduceUC
#undef upc_all_reduceUC
#undef __UPC_USE_upc_all_prefix_reduceUC
#undef upc_all_prefix_reduceUC
#undef __UPC_USE_upc_all_reduceS
#undef upc_all_reduceS
#undef __UPC_USE_upc_all_prefix_reduceS
#undef upc_all_prefix_reduceS
#undef __UPC_USE_upc_all_reduceUS
#undef upc_all_reduceUS
#undef __UPC_USE_upc_all_prefix_reduceUS
#undef upc_all_prefix_reduceUS
#undef __UPC_USE_upc_all_reduceI
#undef upc_all_reduceI
#undef __UPC_USE_upc_all_prefix_reduceI
#undef upc_all_prefix_reduceI
#undef __UPC_USE_upc_all_reduceUI
#undef upc_all_reduceUI
#undef __UPC_USE_upc_all_prefix_reduceUI
#undef upc_all_prefix_reduceUI
#undef __UPC_USE_upc_all_reduceL
#undef upc_all_reduceL
#undef __UPC_USE_upc_all_prefix_reduceL
#undef upc_all_prefix_reduceL
#undef __UPC_USE_upc_all_reduceUL
#undef upc_all_reduceUL
#undef __UPC_USE_upc_all_prefix_reduceUL
#undef upc_all_prefix_reduceUL
#undef __UPC_USE_upc_all_reduceF
#undef upc_all_reduceF
#undef __UPC_USE_upc_all_prefix_reduceF
#undef upc_all_prefix_reduceF
#undef __UPC_USE_upc_all_reduceD
#undef upc_all_reduceD
#undef __UPC_USE_upc_all_prefix_reduceD
#undef upc_all_prefix_reduceD
#undef __UPC_USE_upc_all_reduceLD
#undef upc_all_reduceLD
#undef __UPC_USE_upc_all_prefix_reduceLD
#undef upc_all_prefix_reduceLD

/* the last argument: the result goes to every thread */
#define __UPCR_REDUCE(X, T) \
__UPCR_IN void _upcr_all_reduce##X(upcr_shared_ptr_t dst, upcr_shared_ptr_t src, upc_op_t op, size_t nelems, size_t blk_size, \
                                   T (*func)(T, T), upc_flag_t flags, int reduce_all) \
{ \
  __upc_reduce##X(dst, src, op, nelems, blk_size, func, flags, reduce_all); \
}
__UPCR_REDUCE(C, signed char)
__UPCR_REDUCE(UC, unsigned char)
__UPCR_REDUCE(S, signed short)
__UPCR_REDUCE(US, unsigned short)
__UPCR_REDUCE(I, signed int)
__UPCR_REDUCE(UI, unsigned int)
__UPCR_REDUCE(L, signed long)
__UPCR_REDUCE(UL, unsigned long)
__UPCR_REDUCE(F, float)
__UPCR_REDUCE(D, double)
__UPCR_REDUCE(LD, long double)

/* ---- names that programs use ---- */
#define upc_all_broadcast(...) _upcr_all_broadcast(__VA_ARGS__)
#define bupc_all_broadcast(...) _upcr_all_broadcast(__VA_ARGS__)
#define upc_all_scatter(...) _upcr_all_scatter(__VA_ARGS__)
#define bupc_all_scatter(...) _upcr_all_scatter(__VA_ARGS__)
#define upc_all_gather(...) _upcr_all_gather(__VA_ARGS__)
#define bupc_all_gather(...) _upcr_all_gather(__VA_ARGS__)
#define upc_all_gather_all(...) _upcr_all_gather_all(__VA_ARGS__)
#define bupc_all_gather_all(...) _upcr_all_gather_all(__VA_ARGS__)
#define upc_all_exchange(...) _upcr_all_exchange(__VA_ARGS__)
#define bupc_all_exchange(...) _upcr_all_exchange(__VA_ARGS__)
#define upc_all_permute(...) _upcr_all_permute(__VA_ARGS__)
#define bupc_all_permute(...) _upcr_all_permute(__VA_ARGS__)
#define upc_all_fopen(...) _upcr_all_fopen(__VA_ARGS__)
#define bupc_all_fopen(...) _upcr_all_fopen(__VA_ARGS__)
#define upc_all_fclose(...) _upcr_all_fclose(__VA_ARGS__)
#define bupc_all_fclose(...) _upcr_all_fclose(__VA_ARGS__)
#define upc_all_fsync(...) _upcr_all_fsync(__VA_ARGS__)
#define bupc_all_fsync(...) _upcr_all_fsync(__VA_ARGS__)
#define upc_all_fseek(...) _upcr_all_fseek(__VA_ARGS__)
#define bupc_all_fseek(...) _upcr_all_fseek(__VA_ARGS__)
#define upc_all_fset_size(...) _upcr_all_fset_size(__VA_ARGS__)
#define bupc_all_fset_size(...) _upcr_all_fset_size(__VA_ARGS__)
#define upc_all_fget_size(...) _upcr_all_fget_size(__VA_ARGS__)
#define bupc_all_fget_size(...) _upcr_all_fget_size(__VA_ARGS__)
#define upc_all_fpreallocate(...) _upcr_all_fpreallocate(__VA_ARGS__)
#define bupc_all_fpreallocate(...) _upcr_all_fpreallocate(__VA_ARGS__)
#define upc_all_fcntl(...) _upcr_all_fcntl(__VA_ARGS__)
#define bupc_all_fcntl(...) _upcr_all_fcntl(__VA_ARGS__)
#define upc_all_fread_local(...) _upcr_all_fread_local(__VA_ARGS__)
#define bupc_all_fread_local(...) _upcr_all_fread_local(__VA_ARGS__)
#define upc_all_fread_local_async(...) _upcr_all_fread_local_async(__VA_ARGS__)
#define bupc_all_fread_local_async(...) _upcr_all_fread_local_async(__VA_ARGS__)
#define upc_all_fread_shared(...) _upcr_all_fread_shared(__VA_ARGS__)
#define bupc_all_fread_shared(...) _upcr_all_fread_shared(__VA_ARGS__)
#define upc_all_fread_shared_async(...) _upcr_all_fread_shared_async(__VA_ARGS__)
#define bupc_all_fread_shared_async(...) _upcr_all_fread_shared_async(__VA_ARGS__)
#define upc_all_fread_list_local(...) _upcr_all_fread_list_local(__VA_ARGS__)
#define bupc_all_fread_list_local(...) _upcr_all_fread_list_local(__VA_ARGS__)
#define upc_all_fread_list_local_async(...) _upcr_all_fread_list_local_async(__VA_ARGS__)
#define bupc_all_fread_list_local_async(...) _upcr_all_fread_list_local_async(__VA_ARGS__)
#define upc_all_fread_list_shared(...) _upcr_all_fread_list_shared(__VA_ARGS__)
#define bupc_all_fread_list_shared(...) _upcr_all_fread_list_shared(__VA_ARGS__)
#define upc_all_fread_list_shared_async(...) _upcr_all_fread_list_shared_async(__VA_ARGS__)
#define bupc_all_fread_list_shared_async(...) _upcr_all_fread_list_shared_async(__VA_ARGS__)
#define upc_all_fwrite_local(...) _upcr_all_fwrite_local(__VA_ARGS__)
#define bupc_all_fwrite_local(...) _upcr_all_fwrite_local(__VA_ARGS__)
#define upc_all_fwrite_local_async(...) _upcr_all_fwrite_local_async(__VA_ARGS__)
#define bupc_all_fwrite_local_async(...) _upcr_all_fwrite_local_async(__VA_ARGS__)
#define upc_all_fwrite_shared(...) _upcr_all_fwrite_shared(__VA_ARGS__)
#define bupc_all_fwrite_shared(...) _upcr_all_fwrite_shared(__VA_ARGS__)
#define upc_all_fwrite_shared_async(...) _upcr_all_fwrite_shared_async(__VA_ARGS__)
#define bupc_all_fwrite_shared_async(...) _upcr_all_fwrite_shared_async(__VA_ARGS__)
#define upc_all_fwrite_list_local(...) _upcr_all_fwrite_list_local(__VA_ARGS__)
#define bupc_all_fwrite_list_local(...) _upcr_all_fwrite_list_local(__VA_ARGS__)
#define upc_all_fwrite_list_local_async(...) _upcr_all_fwrite_list_local_async(__VA_ARGS__)
#define bupc_all_fwrite_list_local_async(...) _upcr_all_fwrite_list_local_async(__VA_ARGS__)
#define upc_all_fwrite_list_shared(...) _upcr_all_fwrite_list_shared(__VA_ARGS__)
#define bupc_all_fwrite_list_shared(...) _upcr_all_fwrite_list_shared(__VA_ARGS__)
#define upc_all_fwrite_list_shared_async(...) _upcr_all_fwrite_list_shared_async(__VA_ARGS__)
#define bupc_all_fwrite_list_shared_async(...) _upcr_all_fwrite_list_shared_async(__VA_ARGS__)
#define upc_all_fwait_async(...) _upcr_all_fwait_async(__VA_ARGS__)
#define bupc_all_fwait_async(...) _upcr_all_fwait_async(__VA_ARGS__)
#define upc_all_ftest_async(...) _upcr_all_ftest_async(__VA_ARGS__)
#define bupc_all_ftest_async(...) _upcr_all_ftest_async(__VA_ARGS__)
#define upc_all_atomicdomain_alloc(...) _upcr_all_atomicdomain_alloc(__VA_ARGS__)
#define bupc_all_atomicdomain_alloc(...) _upcr_all_atomicdomain_alloc(__VA_ARGS__)
#define upc_all_atomicdomain_free(...) _upcr_all_atomicdomain_free(__VA_ARGS__)
#define bupc_all_atomicdomain_free(...) _upcr_all_atomicdomain_free(__VA_ARGS__)
#define upc_atomic_strict(...) _upcr_atomic_strict(__VA_ARGS__)
#define bupc_atomic_strict(...) _upcr_atomic_strict(__VA_ARGS__)
#define upc_atomic_relaxed(...) _upcr_atomic_relaxed(__VA_ARGS__)
#define bupc_atomic_relaxed(...) _upcr_atomic_relaxed(__VA_ARGS__)
#define upc_atomic_isfast(...) _upcr_atomic_isfast(__VA_ARGS__)
#define bupc_atomic_isfast(...) _upcr_atomic_isfast(__VA_ARGS__)
#define bupc_sem_alloc(...) _bupc_sem_alloc(__VA_ARGS__)
#define bupc_sem_free(...) _bupc_sem_free(__VA_ARGS__)
#define bupc_sem_post(...) _bupc_sem_post(__VA_ARGS__)
#define bupc_sem_postN(...) _bupc_sem_postN(__VA_ARGS__)
#define bupc_sem_wait(...) _bupc_sem_wait(__VA_ARGS__)
#define bupc_sem_waitN(...) _bupc_sem_waitN(__VA_ARGS__)
#define bupc_sem_try(...) _bupc_sem_try(__VA_ARGS__)
#define bupc_sem_tryN(...) _bupc_sem_tryN(__VA_ARGS__)
#define bupc_memput_signal(...) _bupc_memput_signal(__VA_ARGS__)
#define bupc_memput_signal_async(...) _bupc_memput_signal_async(__VA_ARGS__)
#define bupc_local_to_shared(...) _bupc_local_to_shared(__VA_ARGS__)
#define bupc_ptradd(...) _bupc_ptradd(__VA_ARGS__)
#define bupc_dump_shared(...) _bupc_dump_shared(__VA_ARGS__)
#define bupc_inverse_cast(...) _bupc_inverse_cast(__VA_ARGS__)
#define bupc_memcpy_vlist(...) _bupc_memcpy_vlist(__VA_ARGS__)
#define bupc_memcpy_vlist_async(...) _bupc_memcpy_vlist_async(__VA_ARGS__)
#define bupc_memcpy_ilist(...) _bupc_memcpy_ilist(__VA_ARGS__)
#define bupc_memcpy_ilist_async(...) _bupc_memcpy_ilist_async(__VA_ARGS__)
#define bupc_memcpy_fstrided(...) _bupc_memcpy_fstrided(__VA_ARGS__)
#define bupc_memcpy_fstrided_async(...) _bupc_memcpy_fstrided_async(__VA_ARGS__)
#define bupc_memcpy_strided(...) _bupc_memcpy_strided(__VA_ARGS__)
#define bupc_memcpy_strided_async(...) _bupc_memcpy_strided_async(__VA_ARGS__)
#define bupc_memput_vlist(...) _bupc_memput_vlist(__VA_ARGS__)
#define bupc_memput_vlist_async(...) _bupc_memput_vlist_async(__VA_ARGS__)
#define bupc_memput_ilist(...) _bupc_memput_ilist(__VA_ARGS__)
#define bupc_memput_ilist_async(...) _bupc_memput_ilist_async(__VA_ARGS__)
#define bupc_memput_fstrided(...) _bupc_memput_fstrided(__VA_ARGS__)
#define bupc_memput_fstrided_async(...) _bupc_memput_fstrided_async(__VA_ARGS__)
#define bupc_memput_strided(...) _bupc_memput_strided(__VA_ARGS__)
#define bupc_memput_strided_async(...) _bupc_memput_strided_async(__VA_ARGS__)
#define bupc_memget_vlist(...) _bupc_memget_vlist(__VA_ARGS__)
#define bupc_memget_vlist_async(...) _bupc_memget_vlist_async(__VA_ARGS__)
#define bupc_memget_ilist(...) _bupc_memget_ilist(__VA_ARGS__)
#define bupc_memget_ilist_async(...) _bupc_memget_ilist_async(__VA_ARGS__)
#define bupc_memget_fstrided(...) _bupc_memget_fstrided(__VA_ARGS__)
#define bupc_memget_fstrided_async(...) _bupc_memget_fstrided_async(__VA_ARGS__)
#define bupc_memget_strided(...) _bupc_memget_strided(__VA_ARGS__)
#define bupc_memget_strided_async(...) _bupc_memget_strided_async(__VA_ARGS__)
#define bupc_team_split(...) _upcr_team_split(__VA_ARGS__)
#define bupc_team_broadcast(...) _upcr_team_broadcast(__VA_ARGS__)
#define bupc_team_scatter(...) _upcr_team_scatter(__VA_ARGS__)
#define bupc_team_gather(...) _upcr_team_gather(__VA_ARGS__)
#define bupc_team_gather_all(...) _upcr_team_gather_all(__VA_ARGS__)
#define bupc_team_exchange(...) _upcr_team_exchange(__VA_ARGS__)
#define bupc_cast(...) _bupc_cast(__VA_ARGS__)
#define bupc_castable(...) _bupc_castable(__VA_ARGS__)
#define bupc_thread_castable(...) _bupc_thread_castable(__VA_ARGS__)
#define bupc_thread_distance(...) _bupc_thread_distance(__VA_ARGS__)
#define bupc_system(...) _bupc_system(__VA_ARGS__)
#define bupc_tick_granularityus(...) _bupc_tick_granularityus(__VA_ARGS__)
#define bupc_tick_overheadus(...) _bupc_tick_overheadus(__VA_ARGS__)
#define bupc_coll_wait(...) _bupc_coll_wait(__VA_ARGS__)
#define bupc_load_coll_tuning_file(...) _bupc_load_coll_tuning_file(__VA_ARGS__)
#define bupc_store_coll_tuning_file(...) _bupc_store_coll_tuning_file(__VA_ARGS__)
#define pupc_create_event(...) _pupc_create_event(__VA_ARGS__)
#define pupc_control(...) _pupc_control(__VA_ARGS__)
#define pupc_event_start(...) _pupc_event_start(__VA_ARGS__)
#define pupc_event_end(...) _pupc_event_end(__VA_ARGS__)
#define pupc_event_atomic(...) _pupc_event_atomic(__VA_ARGS__)
#define upc_all_reduceC(...) _upcr_all_reduceC(__VA_ARGS__, 0)
#define upc_all_reduce_allC(...) _upcr_all_reduceC(__VA_ARGS__, 1)
#define upc_all_prefix_reduceC(...) _upcr_all_prefix_reduceC(__VA_ARGS__)
#define bupc_all_reduceC(...) _upcr_all_reduceC(__VA_ARGS__, 0)
#define bupc_all_reduce_allC(...) _upcr_all_reduceC(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceC(...) _upcr_all_prefix_reduceC(__VA_ARGS__)
#define upc_all_reduceUC(...) _upcr_all_reduceUC(__VA_ARGS__, 0)
#define upc_all_reduce_allUC(...) _upcr_all_reduceUC(__VA_ARGS__, 1)
#define upc_all_prefix_reduceUC(...) _upcr_all_prefix_reduceUC(__VA_ARGS__)
#define bupc_all_reduceUC(...) _upcr_all_reduceUC(__VA_ARGS__, 0)
#define bupc_all_reduce_allUC(...) _upcr_all_reduceUC(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceUC(...) _upcr_all_prefix_reduceUC(__VA_ARGS__)
#define upc_all_reduceS(...) _upcr_all_reduceS(__VA_ARGS__, 0)
#define upc_all_reduce_allS(...) _upcr_all_reduceS(__VA_ARGS__, 1)
#define upc_all_prefix_reduceS(...) _upcr_all_prefix_reduceS(__VA_ARGS__)
#define bupc_all_reduceS(...) _upcr_all_reduceS(__VA_ARGS__, 0)
#define bupc_all_reduce_allS(...) _upcr_all_reduceS(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceS(...) _upcr_all_prefix_reduceS(__VA_ARGS__)
#define upc_all_reduceUS(...) _upcr_all_reduceUS(__VA_ARGS__, 0)
#define upc_all_reduce_allUS(...) _upcr_all_reduceUS(__VA_ARGS__, 1)
#define upc_all_prefix_reduceUS(...) _upcr_all_prefix_reduceUS(__VA_ARGS__)
#define bupc_all_reduceUS(...) _upcr_all_reduceUS(__VA_ARGS__, 0)
#define bupc_all_reduce_allUS(...) _upcr_all_reduceUS(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceUS(...) _upcr_all_prefix_reduceUS(__VA_ARGS__)
#define upc_all_reduceI(...) _upcr_all_reduceI(__VA_ARGS__, 0)
#define upc_all_reduce_allI(...) _upcr_all_reduceI(__VA_ARGS__, 1)
#define upc_all_prefix_reduceI(...) _upcr_all_prefix_reduceI(__VA_ARGS__)
#define bupc_all_reduceI(...) _upcr_all_reduceI(__VA_ARGS__, 0)
#define bupc_all_reduce_allI(...) _upcr_all_reduceI(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceI(...) _upcr_all_prefix_reduceI(__VA_ARGS__)
#define upc_all_reduceUI(...) _upcr_all_reduceUI(__VA_ARGS__, 0)
#define upc_all_reduce_allUI(...) _upcr_all_reduceUI(__VA_ARGS__, 1)
#define upc_all_prefix_reduceUI(...) _upcr_all_prefix_reduceUI(__VA_ARGS__)
#define bupc_all_reduceUI(...) _upcr_all_reduceUI(__VA_ARGS__, 0)
#define bupc_all_reduce_allUI(...) _upcr_all_reduceUI(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceUI(...) _upcr_all_prefix_reduceUI(__VA_ARGS__)
#define upc_all_reduceL(...) _upcr_all_reduceL(__VA_ARGS__, 0)
#define upc_all_reduce_allL(...) _upcr_all_reduceL(__VA_ARGS__, 1)
#define upc_all_prefix_reduceL(...) _upcr_all_prefix_reduceL(__VA_ARGS__)
#define bupc_all_reduceL(...) _upcr_all_reduceL(__VA_ARGS__, 0)
#define bupc_all_reduce_allL(...) _upcr_all_reduceL(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceL(...) _upcr_all_prefix_reduceL(__VA_ARGS__)
#define upc_all_reduceUL(...) _upcr_all_reduceUL(__VA_ARGS__, 0)
#define upc_all_reduce_allUL(...) _upcr_all_reduceUL(__VA_ARGS__, 1)
#define upc_all_prefix_reduceUL(...) _upcr_all_prefix_reduceUL(__VA_ARGS__)
#define bupc_all_reduceUL(...) _upcr_all_reduceUL(__VA_ARGS__, 0)
#define bupc_all_reduce_allUL(...) _upcr_all_reduceUL(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceUL(...) _upcr_all_prefix_reduceUL(__VA_ARGS__)
#define upc_all_reduceF(...) _upcr_all_reduceF(__VA_ARGS__, 0)
#define upc_all_reduce_allF(...) _upcr_all_reduceF(__VA_ARGS__, 1)
#define upc_all_prefix_reduceF(...) _upcr_all_prefix_reduceF(__VA_ARGS__)
#define bupc_all_reduceF(...) _upcr_all_reduceF(__VA_ARGS__, 0)
#define bupc_all_reduce_allF(...) _upcr_all_reduceF(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceF(...) _upcr_all_prefix_reduceF(__VA_ARGS__)
#define upc_all_reduceD(...) _upcr_all_reduceD(__VA_ARGS__, 0)
#define upc_all_reduce_allD(...) _upcr_all_reduceD(__VA_ARGS__, 1)
#define upc_all_prefix_reduceD(...) _upcr_all_prefix_reduceD(__VA_ARGS__)
#define bupc_all_reduceD(...) _upcr_all_reduceD(__VA_ARGS__, 0)
#define bupc_all_reduce_allD(...) _upcr_all_reduceD(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceD(...) _upcr_all_prefix_reduceD(__VA_ARGS__)
#define upc_all_reduceLD(...) _upcr_all_reduceLD(__VA_ARGS__, 0)
#define upc_all_reduce_allLD(...) _upcr_all_reduceLD(__VA_ARGS__, 1)
#define upc_all_prefix_reduceLD(...) _upcr_all_prefix_reduceLD(__VA_ARGS__)
#define bupc_all_reduceLD(...) _upcr_all_reduceLD(__VA_ARGS__, 0)
#define bupc_all_reduce_allLD(...) _upcr_all_reduceLD(__VA_ARGS__, 1)
#define bupc_all_prefix_reduceLD(...) _upcr_all_prefix_reduceLD(__VA_ARGS__)
#define upc_memcpy_nb(d, s, n) upcr_nb_memcpy(d, s, n)
#define upc_memcpy_nbi(d, s, n) upcr_nbi_memcpy(d, s, n)
#define bupc_memcpy_async(d, s, n) upcr_nb_memcpy(d, s, n)
#define bupc_memcpy_asynci(d, s, n) upcr_nbi_memcpy(d, s, n)
#define upc_memget_nb(d, s, n) upcr_nb_memget(d, s, n)
#define upc_memget_nbi(d, s, n) upcr_nbi_memget(d, s, n)
#define bupc_memget_async(d, s, n) upcr_nb_memget(d, s, n)
#define bupc_memget_asynci(d, s, n) upcr_nbi_memget(d, s, n)
#define upc_memput_nb(d, s, n) upcr_nb_memput(d, s, n)
#define upc_memput_nbi(d, s, n) upcr_nbi_memput(d, s, n)
#define bupc_memput_async(d, s, n) upcr_nb_memput(d, s, n)
#define bupc_memput_asynci(d, s, n) upcr_nbi_memput(d, s, n)
#define upc_memset_nb(d, c, n) upcr_nb_memset(d, c, n)
#define upc_memset_nbi(d, c, n) upcr_nbi_memset(d, c, n)
#define bupc_memset_async(d, c, n) upcr_nb_memset(d, c, n)
#define bupc_memset_asynci(d, c, n) upcr_nbi_memset(d, c, n)
#define upc_handle_t upcr_handle_t
#define UPC_COMPLETE_HANDLE UPCR_INVALID_HANDLE
#define upc_sync(h) upcr_wait_syncnb(h)
#define upc_sync_attempt(h) upcr_try_syncnb(h)
#define upc_synci() upcr_wait_syncnbi_all()
#define upc_synci_attempt() upcr_try_syncnbi_all()
#define bupc_waitsync(h) upcr_wait_syncnb(h)
#define bupc_trysync(h) upcr_try_syncnb(h)
#define bupc_waitsync_all(h, n) upcr_wait_syncnb_all(h, n)
#define bupc_trysync_all(h, n) upcr_try_syncnb_all(h, n)
#define bupc_waitsync_some(h, n) upcr_wait_syncnb_some(h, n)
#define bupc_trysync_some(h, n) upcr_try_syncnb_some(h, n)
#define bupc_waitsynci() upcr_wait_syncnbi_all()
#define bupc_trysynci() upcr_try_syncnbi_all()
#define bupc_waitsynci_puts() upcr_wait_syncnbi_puts()
#define bupc_trysynci_puts() upcr_try_syncnbi_puts()
#define bupc_waitsynci_gets() upcr_wait_syncnbi_gets()
#define bupc_trysynci_gets() upcr_try_syncnbi_gets()
#define bupc_begin_accessregion() upcr_begin_nbi_accessregion()
#define bupc_end_accessregion() upcr_end_nbi_accessregion()
#define upc_ticks_now() ((upc_tick_t)__upc_ticks_now())
#define upc_ticks_to_ns(t) ((uint64_t)(t))
#define bupc_ticks_now() upc_ticks_now()
#define bupc_ticks_to_ns(t) upc_ticks_to_ns(t)
#define bupc_ticks_to_us(t) ((uint64_t)(t) / 1000)
#define bupc_getenv(name) getenv(name)
#define bupc_all_free(p) upcr_all_free(p)
#define bupc_all_lock_free(p) upcr_all_lock_free(p)
#define bupc_trace_printf(args) ((void)0)

#endif
