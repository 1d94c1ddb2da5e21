/* a second translated file: shares the proxy of a variable with none, a tentative definition with the first */
#include "upcr.h"
#include "whirl2c.h"
#include "upcr_proxy.h"
int32_t UPCR_TLD_DEFINE_TENTATIVE(upcrt_forall_control, 4, 4);

upcr_shared_ptr_t v;
upcr_pshared_ptr_t total;

void UPCRI_ALLOC_other_99(void) {
UPCR_BEGIN_FUNCTION();
upcr_startup_shalloc_t _bupc_info[] = {
UPCRT_STARTUP_SHALLOC(v, 32, 6, 1, 8, "A24H_R4_d"),
 };
upcr_startup_pshalloc_t _bupc_pinfo[] = {
UPCRT_STARTUP_PSHALLOC(total, 8, 1, 1, 8, "A1H_R1_d"),
 };
upcr_startup_shalloc(_bupc_info, 1);
upcr_startup_pshalloc(_bupc_pinfo, 1);
}

void UPCRI_INIT_other_99(void) {
UPCR_BEGIN_FUNCTION();
}

/* the collective of translated files: every thread puts x, all get the sum */
extern _IEEE64 other_file(
  int x)
{
  UPCR_BEGIN_FUNCTION();
  upcr_shared_ptr_t result;
  _IEEE64 value;

  value = x;
  UPCR_PUT_PSHARED(UPCR_ADD_PSHARED1(total, 8ULL, (_INT64)(((int) upcr_mythread () ))), 0, &value, 8);
  result = upcr_all_alloc((_UINT64)(((int) upcr_threads () )), 8ULL);
  bupc_all_reduce_allD(result, UPCR_PSHARED_TO_SHARED(total), 1, (_UINT64)(((int) upcr_threads () )), 1ULL, NULL, 0);
  UPCR_GET_PSHARED(&value, UPCR_ADD_PSHARED1(UPCR_SHARED_TO_PSHARED(result), 8ULL, (_INT64)(((int) upcr_mythread () ))), 0, 8);
  upcr_all_free(result);
  UPCR_EXIT_FUNCTION();
  return value;
}
