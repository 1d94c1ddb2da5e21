/* GASNet-1: the core and extended interface of specification 1.8.
 * Define one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before including this file, and
 * link with -lgasnet (pkg-config gasnet-seq, gasnet-par, ...). */
#ifndef _GASNET_H
#define _GASNET_H
#define _INCLUDED_GASNET_H 1

#include "gasnetex.h"
#include "gasnet_am.h"
#include "gasnet_rma.h"

GASNETT_BEGIN_EXTERNC

/* ---- job ---------------------------------------------------------------------------- */
GASNETT_PLEASE_INLINE(gasnet_init)
int gasnet_init(int *argc, char ***argv) {
  return gex_Client_Init(NULL, NULL, NULL, "LEGACY", argc, argv, GEX_FLAG_USES_GASNET1 | GASNETI_FLAG_LEGACY);
}
/* the objects that every client has; any pointer may be null, and the segment is invalid before it is attached */
extern void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *ep, gex_TM_t *tm, gex_Segment_t *segment);
extern int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                         uintptr_t minheapoffset);

/* ---- no-interrupt sections --------------------------------------------------------------- */
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

GASNETT_END_EXTERNC

#include "gasnet_vis.h"
#include "gasnet_coll.h"

#endif
