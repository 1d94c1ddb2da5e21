/* The thread mode, GASNet-1's types and constants, and the small part of the library's state that inline code reads.
 * Part of gasnetex.h; do not include it alone. */
#ifndef _GASNET_TYPES_H
#define _GASNET_TYPES_H

#include "gasnet_fwd.h"

#include "gasnet_basic.h"

/* ---- thread mode ------------------------------------------------------------------ */
#if (defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR)) != 1
  #error define exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before including gasnet.h or gasnetex.h
#endif
#ifdef GASNET_SEQ
  #undef GASNET_SEQ
  #define GASNET_SEQ 1
  #define GASNETI_THREAD_MODEL SEQ
#endif
#ifdef GASNET_PARSYNC
  #undef GASNET_PARSYNC
  #define GASNET_PARSYNC 1
  #define GASNETI_THREAD_MODEL PARSYNC
#endif
#ifdef GASNET_PAR
  #undef GASNET_PAR
  #define GASNET_PAR 1
  #define GASNETI_THREAD_MODEL PAR
#endif
#if defined(GASNET_PAR) || defined(GASNET_PARSYNC)
  #define GASNETI_THREADS 1
#endif
#define GASNETI_THREAD_MODEL_STR GASNETI_STR(GASNETI_THREAD_MODEL)

/* ---- versions, names, limits ------------------------------------------------------- */
#define GASNET_SPEC_VERSION_MAJOR GASNETI_SPEC_VERSION_MAJOR
#define GASNET_SPEC_VERSION_MINOR GASNETI_SPEC_VERSION_MINOR
#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR
#define GASNET_RELEASE_VERSION_STR GASNETI_STR(GASNETI_RELEASE_VERSION)

/* One library serves every network, chosen when the job starts. The compile-time name is
 * that of the package the client was built with, else that of the default, which needs no network. */
#if defined(GASNET_CONDUIT_UDP)
  #define GASNET_CONDUIT_NAME UDP
#elif defined(GASNET_CONDUIT_MPI)
  #define GASNET_CONDUIT_NAME MPI
#elif defined(GASNET_CONDUIT_OFI)
  #define GASNET_CONDUIT_NAME OFI
#elif defined(GASNET_CONDUIT_NETVM)
  #define GASNET_CONDUIT_NAME NETVM
#else
  #undef GASNET_CONDUIT_SMP
  #define GASNET_CONDUIT_SMP 1
  #define GASNET_CONDUIT_NAME SMP
#endif
#define GASNET_CONDUIT_NAME_STR GASNETI_STR(GASNET_CONDUIT_NAME)
#define GASNET_CORE_NAME GASNET_CONDUIT_NAME
#define GASNET_CORE_NAME_STR GASNETI_STR(GASNET_CORE_NAME)
#define GASNET_CORE_VERSION 1.1
#define GASNET_CORE_VERSION_STR GASNETI_STR(GASNET_CORE_VERSION)
#define GASNET_EXTENDED_NAME GASNET_CONDUIT_NAME
#define GASNET_EXTENDED_NAME_STR GASNETI_STR(GASNET_EXTENDED_NAME)
#define GASNET_EXTENDED_VERSION 1.1
#define GASNET_EXTENDED_VERSION_STR GASNETI_STR(GASNET_EXTENDED_VERSION)

#define GASNET_MAXNODES 65535
/* endpoints of a process */
#define GASNET_MAXEPS 33
#define GASNET_MAX_THREADS GASNETI_MAX_THREADS
#define GASNET_PAGESIZE GASNETI_PAGESIZE
#define GASNET_ALIGNED_SEGMENTS 0

#define GASNET_CONFIG_STRING                                                              \
  "RELEASE=" GASNETI_STR(GASNETI_RELEASE_VERSION) ",SPEC=" GASNETI_STR(GASNET_SPEC_VERSION_MAJOR) "."   \
  GASNETI_STR(GASNET_SPEC_VERSION_MINOR) ",CONDUIT=" GASNET_CONDUIT_NAME_STR               \
  "(" GASNET_CORE_NAME_STR "-" GASNET_CORE_VERSION_STR "/" GASNET_EXTENDED_NAME_STR "-"    \
  GASNET_EXTENDED_VERSION_STR "),THREADMODEL=" GASNETI_THREAD_MODEL_STR ",SEGMENT="        \
  GASNETI_STR(GASNETI_SEGMENT_NAME) ",PTR=" GASNETI_STR(GASNETI_PTR_CONFIG)                \
  ",CACHE_LINE_BYTES=" GASNETI_STR(GASNETI_CACHE_LINE_BYTES)                               \
  ",noalign,pshm," GASNETI_STR(GASNETI_DEBUG_NAME) ",notrace,nostats,nodebugmalloc,nosrclines,timers_native"           \
  ",membars_native,atomics_native,atomic32_native,atomic64_native"

/* ---- error codes --------------------------------------------------------------------- */
#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

/* ---- types ------------------------------------------------------------------------------ */
typedef gex_Rank_t gasnet_node_t;
typedef uint8_t gasnet_handler_t;
typedef int32_t gasnet_handlerarg_t;
typedef gex_Token_t gasnet_token_t;
typedef gex_Event_t gasnet_handle_t;
typedef struct gasneti_valget *gasnet_valget_handle_t;
typedef gex_RMA_Value_t gasnet_register_value_t;
typedef void *gasnet_threadinfo_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T 8
#define GASNET_INVALID_HANDLE ((gasnet_handle_t)0)

typedef struct {
  gasnet_handler_t index;
  void (*fnptr)();
} gasnet_handlerentry_t;

typedef struct {
  void *addr;
  uintptr_t size;
} gasnet_seginfo_t;

/* offset: add it to an address in that node's segment to get this process's mapping of it */
typedef struct {
  gasnet_node_t host;      /* lowest rank on the same host */
  gasnet_node_t supernode; /* lowest rank that shares memory with it */
  uintptr_t offset;
} gasnet_nodeinfo_t;

typedef struct {
  void *addr;
  size_t len;
} gasnet_memvec_t;

/* A lock that handlers may take. All zero but the mark is unlocked. */
typedef struct {
  uint32_t gasneti_state;
  uint32_t gasneti_mark;
  uint64_t gasneti_owner;
  void *gasneti_outer;
} gasnet_hsl_t;
#define GASNETI_HSL_MARK 0x48534c31u
#define GASNET_HSL_INITIALIZER { 0, GASNETI_HSL_MARK, 0, NULL }

#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2

#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_IMAGES 4
#define GASNET_BARRIERFLAG_UNNAMED (8 | GASNET_BARRIERFLAG_ANONYMOUS)

GASNETT_BEGIN_EXTERNC

/* ---- what inline code reads ------------------------------------------------------------- */
/* The numbers are of a type that no result of an operation has: a compiler then knows that storing one changes none of
 * them, and reads them once for a loop. */
typedef unsigned long long gasneti_fixed_t;
typedef struct {
  gasneti_fixed_t base;  /* where the owner sees its segment */
  gasneti_fixed_t near;  /* bytes this process may touch directly; 0 when it has no mapping */
  gasneti_fixed_t delta; /* owner's address + delta = our address, when near != 0 */
} gasneti_peer_t;

/* The same distances alone, at a fixed place: one load leads from a rank to an address. Jobs of more ranks, and those under
 * the rule checks, have every call go to the library. */
#define GASNETI_MAX_RANKS 65536
typedef struct {
  uint64_t apart[280];  /* as in gasneti_abi_t */
  gasneti_fixed_t of[GASNETI_MAX_RANKS];
} gasneti_deltas_t;
extern gasneti_deltas_t gasneti_deltas;
/* the distance of a segment that inline code may not touch; those of others are even */
#define GASNETI_NOT_MAPPED 1

typedef struct {
  uint64_t apart[280]; /* the words below are one cache line, far from where pages begin */
  uint32_t rank, size;
  const gasneti_peer_t *peer; /* size entries, filled when the segments are attached */
  uint32_t check;             /* not 0: calls go through the library's rule checks */
  uint32_t interface_version;
  gex_TM_t tm;                /* the primordial team, of all ranks; no team if every call goes to the library */
  uint32_t far;               /* not 0: some ranks share no memory with this one */
  uint32_t known;             /* size, or 0 if every call goes to the library */
  uint32_t wide;              /* not 0: the processor has registers of 32 bytes (AVX) */
  uint32_t padding;
  gex_TM_t mapped;            /* tm once this process maps the segments of all ranks; no team before, or if it does not */
} gasneti_abi_t;

/* Written by gasnet_init or gex_Client_Init alone. Not declared const, or the compiler might read it before that. */
extern gasneti_abi_t gasneti_abi;

/* A program may wait in a loop of operations that are complete at once, for what far ranks do: they are served now and then. */
extern void gasneti_attend(void);
GASNETT_INLINE(gasneti_complete)
void gasneti_complete(void) {
  if (GASNETT_PREDICT_FALSE(gasneti_abi.far)) gasneti_attend();
}

/* ---- agreement of all objects of a program on their modes, checked by gasnet_init ---------- */
#ifdef GASNET_DEBUG
  #define GASNETI_MODE_DEBUG ":debug"
#else
  #define GASNETI_MODE_DEBUG ""
#endif
#define GASNETI_MODE_TEXT \
  "2:" GASNETI_THREAD_MODEL_STR ":" GASNETI_STR(GASNETI_SEGMENT_NAME) ":" GASNETI_STR(GASNETI_PTR_BITS) GASNETI_MODE_DEBUG
typedef struct { char text[32]; } gasneti_mode_t;
static const gasneti_mode_t gasneti_mode
  __attribute__((__section__("gasneti_modes"), __used__, __unused__, __aligned__(1))) =
  { GASNETI_MODE_TEXT };
extern const gasneti_mode_t __start_gasneti_modes[] __attribute__((__weak__, __visibility__("hidden")));
extern const gasneti_mode_t __stop_gasneti_modes[] __attribute__((__weak__, __visibility__("hidden")));

GASNETT_END_EXTERNC

#endif
