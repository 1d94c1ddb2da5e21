/* GASNet-EX: its types and constants, and nothing that links. A header of a library may include
 * this file where no thread mode is chosen, in C++ too: every name begins with gex_, GEX_ or _GEX_. */
#ifndef _GASNET_FWD_H
#define _GASNET_FWD_H
#define _INCLUDED_GASNET_FWD_H 1

#include <stddef.h>
#include <stdint.h>

#define GEX_SPEC_VERSION_MAJOR 0
#define GEX_SPEC_VERSION_MINOR 19

/* ---- ranks, endpoints, objects ---------------------------------------------------------- */
typedef uint32_t gex_Rank_t;
#define GEX_RANK_INVALID ((gex_Rank_t)~(gex_Rank_t)0)
typedef uint16_t gex_EP_Index_t;

typedef struct _gex_client_s *gex_Client_t;
#define GEX_CLIENT_INVALID ((gex_Client_t)(uintptr_t)0)
typedef struct _gex_segment_s *gex_Segment_t;
#define GEX_SEGMENT_INVALID ((gex_Segment_t)(uintptr_t)0)
typedef struct _gex_ep_s *gex_EP_t;
#define GEX_EP_INVALID ((gex_EP_t)(uintptr_t)0)
typedef struct _gex_tm_s *gex_TM_t;
#define GEX_TM_INVALID ((gex_TM_t)(uintptr_t)0)
typedef struct _gex_ad_s *gex_AD_t;
#define GEX_AD_INVALID ((gex_AD_t)(uintptr_t)0)
typedef struct _gex_mk_s *gex_MK_t;
#define GEX_MK_INVALID ((gex_MK_t)(uintptr_t)0)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)

typedef void *gex_Addr_t;
typedef struct {
  gex_Rank_t gex_rank;
  gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;
typedef struct {
  void *gex_addr;
  size_t gex_len;
} gex_Memvec_t;
typedef const struct {
  gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

/* ---- flags: unrelated calls may share a bit ----------------------------------------------- */
typedef uint32_t gex_Flags_t;
#define GEX_FLAG_IMMEDIATE (1U << 0)
#define GEX_FLAG_SELF_SEG_UNKNOWN (1U << 3)
#define GEX_FLAG_SELF_SEG_SOME (1U << 4)
#define GEX_FLAG_SELF_SEG_BOUND (1U << 5)
#define GEX_FLAG_SELF_SEG_OFFSET (1U << 6)
#define GEX_FLAG_PEER_SEG_UNKNOWN (1U << 7)
#define GEX_FLAG_PEER_SEG_SOME (1U << 8)
#define GEX_FLAG_PEER_SEG_BOUND (1U << 9)
#define GEX_FLAG_PEER_SEG_OFFSET (1U << 10)
#define GEX_FLAG_ENABLE_LEAF_LC (1U << 11)
#define GEX_FLAG_PEER_NEVER_NBRHD (1U << 14)
#define GEX_FLAG_PEER_NEVER_SELF (1U << 15)
/* limits of active messages, and preparing them */
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1U << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC (1U << 12)
/* registering handlers */
#define GEX_FLAG_AM_SHORT (1U << 0)
#define GEX_FLAG_AM_MEDIUM (1U << 1)
#define GEX_FLAG_AM_LONG (1U << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1U << 3)
#define GEX_FLAG_AM_REPLY (1U << 4)
#define GEX_FLAG_AM_REQREP (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)
/* remote atomics, and creating their domains */
#define GEX_FLAG_AD_REL (1U << 1)
#define GEX_FLAG_AD_ACQ (1U << 2)
#define GEX_FLAG_AD_MY_RANK (1U << 11)
#define GEX_FLAG_AD_MY_NBRHD (1U << 12)
#define GEX_FLAG_RANK_IS_JOBRANK (1U << 13)
#define GEX_FLAG_AD_FAVOR_MY_RANK (1U << 0)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD (1U << 1)
#define GEX_FLAG_AD_FAVOR_REMOTE (1U << 2)
/* starting a client */
#define GEX_FLAG_USES_GASNET1 (1U << 0)
#define GEX_FLAG_DEFER_THREADS (1U << 1)
/* teams */
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN (1U << 0)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1U << 1)
#define GEX_FLAG_TM_GLOBAL_SCRATCH (1U << 2)
#define GEX_FLAG_TM_LOCAL_SCRATCH (1U << 3)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH (1U << 4)
#define GEX_FLAG_TM_NO_SCRATCH (1U << 5)
#define GEX_FLAG_SCRATCH_SEG_OFFSET (1U << 6)
#define GEX_FLAG_GLOBALLY_QUIESCED (1U << 13)
/* what an endpoint is hinted to be used for */
#define GEX_FLAG_HINT_ACCEL_AD (1U << 0)
#define GEX_FLAG_HINT_ACCEL_COLL (1U << 1)
#define GEX_FLAG_HINT_ACCEL_ALL (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL)

typedef uint32_t gex_EP_Capabilities_t;
#define GEX_EP_CAPABILITY_RMA (1U << 0)
#define GEX_EP_CAPABILITY_AM (1U << 1)
#define GEX_EP_CAPABILITY_VIS (1U << 2)
#define GEX_EP_CAPABILITY_COLL (1U << 3)
#define GEX_EP_CAPABILITY_AD (1U << 4)
#define GEX_EP_CAPABILITY_ALL 31U

/* ---- completion ----------------------------------------------------------------------------- */
typedef struct _gex_event_s *gex_Event_t;
#define GEX_EVENT_INVALID ((gex_Event_t)(uintptr_t)0)
#define GEX_EVENT_NO_OP ((gex_Event_t)(uintptr_t)1)
#define GEX_EVENT_NOW ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP ((gex_Event_t *)(uintptr_t)3)

/* Categories: remote completion of a put includes the local one, which active messages share. */
typedef uint32_t gex_EC_t;
#define GEX_EC_PUT (3U)
#define GEX_EC_LC (1U << 1)
#define GEX_EC_AM (1U << 1)
#define GEX_EC_GET (1U << 2)
#define GEX_EC_RMW (1U << 3)
#define GEX_EC_ALL (~(gex_EC_t)0)

/* ---- data types and operations of atomics and reductions ------------------------------------ */
typedef uint32_t gex_DT_t;
#define GEX_DT_I32 (1U << 0)
#define GEX_DT_U32 (1U << 1)
#define GEX_DT_I64 (1U << 2)
#define GEX_DT_U64 (1U << 3)
#define GEX_DT_FLT (1U << 4)
#define GEX_DT_DBL (1U << 5)
#define GEX_DT_USER (1U << 6)

typedef uint32_t gex_OP_t;
#define _GEX_OP_FETCHING_SHIFT 15
#define GEX_OP_AND (1U << 0)
#define GEX_OP_OR (1U << 1)
#define GEX_OP_XOR (1U << 2)
#define GEX_OP_ADD (1U << 3)
#define GEX_OP_SUB (1U << 4)
#define GEX_OP_MULT (1U << 5)
#define GEX_OP_MIN (1U << 6)
#define GEX_OP_MAX (1U << 7)
#define GEX_OP_INC (1U << 8)
#define GEX_OP_DEC (1U << 9)
#define GEX_OP_SET (1U << 10)
#define GEX_OP_CAS (1U << 11)
#define GEX_OP_FAND (1U << 15)
#define GEX_OP_FOR (1U << 16)
#define GEX_OP_FXOR (1U << 17)
#define GEX_OP_FADD (1U << 18)
#define GEX_OP_FSUB (1U << 19)
#define GEX_OP_FMULT (1U << 20)
#define GEX_OP_FMIN (1U << 21)
#define GEX_OP_FMAX (1U << 22)
#define GEX_OP_FINC (1U << 23)
#define GEX_OP_FDEC (1U << 24)
#define GEX_OP_SWAP (1U << 25)
#define GEX_OP_FCAS (1U << 26)
#define GEX_OP_CSWAP GEX_OP_FCAS
#define GEX_OP_GET (1U << 27)
#define GEX_OP_USER (1U << 30)
#define GEX_OP_USER_NC (1U << 31)
#define GEX_OP_TO_FETCHING(op) ((gex_OP_t)((op) << _GEX_OP_FETCHING_SHIFT))
#define GEX_OP_TO_NONFETCHING(op) ((gex_OP_t)((op) >> _GEX_OP_FETCHING_SHIFT))

/* y[i] = x[i] (+) y[i]; it may run on any thread, on parts of the vector */
typedef void (*gex_Coll_ReduceFn_t)(const void *x, void *y, size_t count, const void *cdata);

/* ---- active messages -------------------------------------------------------------------------- */
typedef struct _gex_token_s *gex_Token_t;
typedef uint8_t gex_AM_Index_t;
typedef int32_t gex_AM_Arg_t;
typedef void (*gex_AM_Fn_t)();
#define GEX_AM_INDEX_BASE 128
typedef struct _gex_srcdesc_s *gex_AM_SrcDesc_t;
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)(uintptr_t)0)

typedef struct {
  gex_AM_Index_t gex_index;
  gex_AM_Fn_t gex_fnptr;
  gex_Flags_t gex_flags;
  unsigned int gex_nargs;
  const void *gex_cdata;
  const char *gex_name;
} gex_AM_Entry_t;

typedef struct {
  gex_Rank_t gex_srcrank;
  gex_EP_t gex_ep;
  const gex_AM_Entry_t *gex_entry;
  int gex_is_req;
  int gex_is_long;
} gex_Token_Info_t;
typedef unsigned int gex_TI_t;
#define GEX_TI_SRCRANK (1U << 0)
#define GEX_TI_ENTRY (1U << 1)
#define GEX_TI_IS_REQ (1U << 2)
#define GEX_TI_IS_LONG (1U << 3)
#define GEX_TI_EP (1U << 4)
#define GEX_TI_ALL 31U

/* ---- values in registers ------------------------------------------------------------------------ */
typedef uint64_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T 8

/* ---- progress threads ------------------------------------------------------------------------------ */
#define GEX_THREAD_ROLE_RCV 1U
#define GEX_THREAD_ROLE_SND 2U
typedef struct {
  const char *gex_device_list;
  unsigned int gex_thread_roles;
  void *(*gex_progress_fn)(void *);
  void *gex_progress_arg;
} gex_ProgressThreadInfo_t;

#endif
