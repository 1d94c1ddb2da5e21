/* GASNet-EX: clients, endpoints, teams, segments, active messages, put and get, events, handler-safe locks; and
 * what GASNet-1 and GASNet-EX share: leaving, the barrier, waiting. Includes gasnet_tools.h.
 * Define one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before including this file. */
#ifndef _GASNETEX_H
#define _GASNETEX_H
#define _INCLUDED_GASNETEX_H 1

#include "gasnet_fwd.h"
#include "gasnet_types.h"
#include "gasnet_tools.h"

GASNETT_BEGIN_EXTERNC

/* ---- job ---------------------------------------------------------------------------- */
typedef struct {
  uint32_t interface_version;
  uint32_t size;
  const gasneti_mode_t *modes, *modes_end;
  const char *const *max_segsize_str;
  const uint64_t *max_segsize;
  const gasnett_backtrace_type_t *backtrace;
  const char *name;
  gex_Client_t *client;
  gex_EP_t *ep;
  gex_TM_t *tm;
  gex_Flags_t flags;
} gasneti_client_t;

/* A client may define these; the weak references are null otherwise. */
extern const char *gasnet_max_segsize_str __attribute__((__weak__));
extern uint64_t gasnet_max_segsize __attribute__((__weak__));
extern void (*gasnet_client_attach_hook)(void *, uintptr_t);

#define gasneti_init_mode \
  GASNETI_PASTE(GASNETI_PASTE(GASNETI_PASTE(gasneti_init_2_, GASNETI_THREAD_MODEL), _), GASNETI_SEGMENT_NAME)
extern int gasneti_init_mode(int *argc, char ***argv, const gasneti_client_t *client);

/* For tools that read executables, and expect one of each: in the object that calls gex_Client_Init. */
#define GASNETI_KEEP_IDENT(text)                                \
  do {                                                          \
    static const char gasneti_ident[] = text;                   \
    __asm__ __volatile__("" : : "r"(gasneti_ident));            \
  } while (0)

/* gasnet_init is this with the name LEGACY. */
#define GASNETI_FLAG_LEGACY (1U << 31)
GASNETT_PLEASE_INLINE(gex_Client_Init)
int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name, int *argc,
                    char ***argv, gex_Flags_t flags) {
  gasneti_client_t client;
  GASNETI_KEEP_IDENT("$GASNetConfig: (client) " GASNET_CONFIG_STRING " $");
  GASNETI_KEEP_IDENT("$GASNetConduitName: " GASNET_CONDUIT_NAME_STR " $");
  GASNETI_KEEP_IDENT("$GASNetThreadModel: GASNET_" GASNETI_THREAD_MODEL_STR " $");
  GASNETI_KEEP_IDENT("$GASNetSegment: GASNET_SEGMENT_" GASNETI_STR(GASNETI_SEGMENT_NAME) " $");
  client.interface_version = 6;
  client.size = (uint32_t)sizeof(client);
  client.modes = __start_gasneti_modes;
  client.modes_end = __stop_gasneti_modes;
  client.max_segsize_str = &gasnet_max_segsize_str;
  client.max_segsize = &gasnet_max_segsize;
  client.backtrace = &gasnett_backtrace_user;
  client.name = name;
  client.client = client_p;
  client.ep = ep_p;
  client.tm = tm_p;
  client.flags = flags;
  return gasneti_init_mode(argc, argv, &client);
}
extern void gasnet_exit(int exitcode) GASNETT_NORETURN;
extern uintptr_t gasnet_getMaxLocalSegmentSize(void);
extern uintptr_t gasnet_getMaxGlobalSegmentSize(void);
extern int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries);
extern int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries);
extern char *gasnet_getenv(const char *name);
extern int gasnet_set_waitmode(int mode);
extern const char *gasnet_ErrorName(int code);
extern const char *gasnet_ErrorDesc(int code);
/* the conduit that this run uses, for example "smp" */
extern const char *gasneti_conduit_name(void);

GASNETT_INLINE(gasnet_mynode)
gasnet_node_t gasnet_mynode(void) { return gasneti_abi.rank; }
GASNETT_INLINE(gasnet_nodes)
gasnet_node_t gasnet_nodes(void) { return gasneti_abi.size; }
/* a name of the original's own that clients have come to use */
#define gasneti_mynode (gasneti_abi.rank)
GASNETT_INLINE(gex_System_QueryJobRank)
gex_Rank_t gex_System_QueryJobRank(void) { return gasneti_abi.rank; }
GASNETT_INLINE(gex_System_QueryJobSize)
gex_Rank_t gex_System_QueryJobSize(void) { return gasneti_abi.size; }
/* live threads of a process that may call the library */
extern uint64_t gex_System_QueryMaxThreads(void);
/* ranks that share memory with this one, and ranks of its host; any pointer may be null, the lists are the library's */
extern void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p);
extern void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p);
/* neighbourhoods and hosts of the job, and which of them are this process's; any pointer may be null */
extern void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size, gex_Rank_t *nbrhd_set_rank,
                                       gex_Rank_t *host_set_size, gex_Rank_t *host_set_rank);
/* whether calls that return an error say why */
extern int gex_System_GetVerboseErrors(void);
extern void gex_System_SetVerboseErrors(int enable);
/* 0: handlers run only inside the client's own calls */
extern int gex_System_QueryHiddenAMConcurrencyLevel(void);
extern int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count,
                                           const gex_ProgressThreadInfo_t **info, gex_Flags_t flags);
extern int gasnet_AMPoll(void);

/* ---- waiting -------------------------------------------------------------------------- */
typedef struct {
  uint64_t gasneti_stage, gasneti_word[15];
} gasneti_waiter_t;
extern void gasneti_wait_step(gasneti_waiter_t *waiter);

#define GASNET_BLOCKUNTIL(cond)                                         \
  do {                                                                  \
    gasneti_waiter_t gasneti_waiter_;                                   \
    gasneti_waiter_.gasneti_stage = 0;                                \
    while (!(cond)) gasneti_wait_step(&gasneti_waiter_);                \
    gasnett_local_rmb();                                                \
  } while (0)

/* ---- handler-safe locks ------------------------------------------------------------------- */
extern void gasnet_hsl_init(gasnet_hsl_t *hsl);
extern void gasnet_hsl_destroy(gasnet_hsl_t *hsl);
extern void gasnet_hsl_lock(gasnet_hsl_t *hsl);
extern void gasnet_hsl_unlock(gasnet_hsl_t *hsl);
extern int gasnet_hsl_trylock(gasnet_hsl_t *hsl);
typedef gasnet_hsl_t gex_HSL_t;
#define GEX_HSL_INITIALIZER GASNET_HSL_INITIALIZER
GASNETT_INLINE(gex_HSL_Init)
void gex_HSL_Init(gex_HSL_t *hsl) { gasnet_hsl_init(hsl); }
GASNETT_INLINE(gex_HSL_Destroy)
void gex_HSL_Destroy(gex_HSL_t *hsl) { gasnet_hsl_destroy(hsl); }
GASNETT_INLINE(gex_HSL_Lock)
void gex_HSL_Lock(gex_HSL_t *hsl) { gasnet_hsl_lock(hsl); }
GASNETT_INLINE(gex_HSL_Unlock)
void gex_HSL_Unlock(gex_HSL_t *hsl) { gasnet_hsl_unlock(hsl); }
GASNETT_INLINE(gex_HSL_Trylock)
int gex_HSL_Trylock(gex_HSL_t *hsl) { return gasnet_hsl_trylock(hsl); }

/* ---- barrier ------------------------------------------------------------------------------ */
extern void gasnet_barrier_notify(int id, int flags);
extern int gasnet_barrier_wait(int id, int flags);
extern int gasnet_barrier_try(int id, int flags);
extern int gasnet_barrier(int id, int flags);
/* 0 and the agreed name, or not 0 when nobody named the last barrier */
extern int gasnet_barrier_result(int *id);

/* ---- thread information: optional, always correct --------------------------------------------- */
extern gasnet_threadinfo_t gasneti_threadinfo(void);
#define GASNET_GET_THREADINFO() gasneti_threadinfo()
#define GASNET_POST_THREADINFO(info) ((void)(info))
#define GASNET_BEGIN_FUNCTION() ((void)0)

/* ---- clients, endpoints, teams, segments ---------------------------------------------------- */
#define GASNETI_CDATA(object)                                                  \
  extern void gex_##object##_SetCData(gex_##object##_t object, const void *val); \
  extern void *gex_##object##_QueryCData(gex_##object##_t object);
GASNETI_CDATA(Client)
GASNETI_CDATA(EP)
GASNETI_CDATA(TM)
GASNETI_CDATA(Segment)
#undef GASNETI_CDATA

extern gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);
extern const char *gex_Client_QueryName(gex_Client_t client);

extern gex_Client_t gex_EP_QueryClient(gex_EP_t ep);
extern gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep);
extern gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep);
extern gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep);
extern int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries);

extern gex_Client_t gex_TM_QueryClient(gex_TM_t tm);
extern gex_EP_t gex_TM_QueryEP(gex_TM_t tm);
extern gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm);
extern gex_Rank_t gex_TM_QueryRank(gex_TM_t tm);
extern gex_Rank_t gex_TM_QuerySize(gex_TM_t tm);
/* Collective over the parent. With GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED they return the scratch memory that a new team
 * would like to have and make none; teams without any can do everything, too. */
extern size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key, void *scratch_addr,
                           size_t scratch_size, gex_Flags_t flags);
extern size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm, gex_EP_Location_t *args,
                            size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size, gex_Flags_t flags);
/* not 0 if scratch_p, which may be null, says now what scratch memory the client has back */
extern int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);
extern gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank);
extern gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank);
extern gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags);
/* done when all members have started it */
extern gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags);
extern void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags);

/* collective over the primordial team */
extern int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size);
extern gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment);
extern gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment);
extern void *gex_Segment_QueryAddr(gex_Segment_t segment);
extern uintptr_t gex_Segment_QuerySize(gex_Segment_t segment);

/* segments of the client's own memory, or of the library's where the address is null */
extern int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t size,
                              gex_MK_t kind, gex_Flags_t flags);
extern void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);
extern int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                         gex_Flags_t flags);
extern int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags);
/* collective over the team */
extern int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags);
extern gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                              void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags);
extern int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
                                  uintptr_t *size_p);
/* ranks of a pair are those of the job */
extern gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index);

/* ---- tokens of active messages --------------------------------------------------------------- */
extern gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

GASNETT_END_EXTERNC

#include "gasnet_ex_am.h"
#include "gasnet_ex_rma.h"

#endif
