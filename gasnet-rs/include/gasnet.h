/* GASNet-1: the core and extended interface of specification 1.8.
 * Define one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before including this file, and
 * link with -lgasnet (pkg-config gasnet-seq, gasnet-par, ...). */
#ifndef _GASNET_H
#define _GASNET_H
#define _INCLUDED_GASNET_H 1

#include "gasnet_fwd.h"
#include "gasnet_am.h"
#include "gasnet_rma.h"
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
} gasneti_client_t;

/* A client may define these; the weak references are null otherwise. */
extern const char *gasnet_max_segsize_str __attribute__((__weak__));
extern uint64_t gasnet_max_segsize __attribute__((__weak__));
extern void (*gasnet_client_attach_hook)(void *, uintptr_t);

#define gasneti_init_mode \
  GASNETI_PASTE(GASNETI_PASTE(GASNETI_PASTE(gasneti_init_1_, GASNETI_THREAD_MODEL), _), GASNETI_SEGMENT_NAME)
extern int gasneti_init_mode(int *argc, char ***argv, const gasneti_client_t *client);

GASNETT_PLEASE_INLINE(gasnet_init)
int gasnet_init(int *argc, char ***argv) {
  gasneti_client_t client;
  client.interface_version = 1;
  client.size = (uint32_t)sizeof(client);
  client.modes = __start_gasneti_modes;
  client.modes_end = __stop_gasneti_modes;
  client.max_segsize_str = &gasnet_max_segsize_str;
  client.max_segsize = &gasnet_max_segsize;
  client.backtrace = &gasnett_backtrace_user;
  return gasneti_init_mode(argc, argv, &client);
}
extern int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                         uintptr_t minheapoffset);
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

/* ---- waiting -------------------------------------------------------------------------- */
typedef struct {
  uint64_t gasneti_stage, gasneti_word[14];
} gasneti_waiter_t;
extern void gasneti_wait_step(gasneti_waiter_t *waiter);

#define GASNET_BLOCKUNTIL(cond)                                         \
  do {                                                                  \
    gasneti_waiter_t gasneti_waiter_;                                   \
    gasneti_waiter_.gasneti_stage = 0;                                \
    while (!(cond)) gasneti_wait_step(&gasneti_waiter_);                \
    gasnett_local_rmb();                                                \
  } while (0)

/* ---- atomicity: no-interrupt sections, handler-safe locks ------------------------------- */
extern void gasneti_hold_interrupts(void);
extern void gasneti_resume_interrupts(void);
GASNETT_INLINE(gasnet_hold_interrupts)
void gasnet_hold_interrupts(void) {
  if (GASNETT_PREDICT_FALSE(gasneti_abi.check)) gasneti_hold_interrupts();
}
GASNETT_INLINE(gasnet_resume_interrupts)
void gasnet_resume_interrupts(void) {
  if (GASNETT_PREDICT_FALSE(gasneti_abi.check)) gasneti_resume_interrupts();
}
extern void gasnet_hsl_init(gasnet_hsl_t *hsl);
extern void gasnet_hsl_destroy(gasnet_hsl_t *hsl);
extern void gasnet_hsl_lock(gasnet_hsl_t *hsl);
extern void gasnet_hsl_unlock(gasnet_hsl_t *hsl);
extern int gasnet_hsl_trylock(gasnet_hsl_t *hsl);

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

GASNETT_END_EXTERNC

#include "gasnet_vis.h"
#include "gasnet_coll.h"

#endif
