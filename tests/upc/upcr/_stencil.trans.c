/* --- UPCR system headers --- */
#include "upcr.h"
#include "whirl2c.h"
#include "upcr_proxy.h"
/* what a translator makes of: a heat equation over shared [4] double u[4*6*THREADS], a sum in a shared scalar, a lock, a table with
 * initial values, and static data of each thread */

/* UPC Runtime specification expected: 3.6 */
#define UPCR_WANT_MAJOR 3
#define UPCR_WANT_MINOR 6
#include "upcr_config.h"
#include "portable_platform.h"
#include "upcr_geninclude/stdlib.h"
#include "upcr_geninclude/stdio.h"
#include "upcr_geninclude/math.h"
#include "upcr_preinclude/upc_types.h"
#include "upcr_geninclude/stddef.h"
#include "upcr_preinclude/upc_bits.h"
#include "upcr_geninclude/inttypes.h"
#line 1 "stencil.w2c.h"
/* Include builtin types and operators */
#ifndef UPCR_TRANS_EXTRA_INCL
#define UPCR_TRANS_EXTRA_INCL
extern int upcrt_gcd (int _a, int _b);
extern int _upcrt_forall_start(int _start_thread, int _step, int _lo, int _scale);
#define upcrt_forall_start(start_thread, step, lo, scale)  \
       _upcrt_forall_start(start_thread, step, lo, scale)
int32_t UPCR_TLD_DEFINE_TENTATIVE(upcrt_forall_control, 4, 4);
#define upcr_forall_control upcrt_forall_control
#ifndef UPCR_EXIT_FUNCTION
#define UPCR_EXIT_FUNCTION() ((void)0)
#endif
#if UPCR_RUNTIME_SPEC_MAJOR > 3 || (UPCR_RUNTIME_SPEC_MAJOR == 3 && UPCR_RUNTIME_SPEC_MINOR >= 8)
  #define UPCRT_STARTUP_SHALLOC(sptr, blockbytes, numblocks, mult_by_threads, elemsz, typestr) \
      { &(sptr), (blockbytes), (numblocks), (mult_by_threads), (elemsz), #sptr, (typestr) }
#else
  #define UPCRT_STARTUP_SHALLOC(sptr, blockbytes, numblocks, mult_by_threads, elemsz, typestr) \
      { &(sptr), (blockbytes), (numblocks), (mult_by_threads) }
#endif
#define UPCRT_STARTUP_PSHALLOC UPCRT_STARTUP_SHALLOC
extern void _upcrt_memput_nb(upcr_shared_ptr_t _dst, const void *_src, size_t _n);
#define upcrt_memput_nb(dst, src, n) \
       (upcri_srcpos(), _upcrt_memput_nb(dst, src, n))
#endif

/* Types */
/* File-level vars and routines */
extern int user_main(int, char **);
extern double other_file(int);
extern upcr_pshared_ptr_t total;

#define UPCR_SHARED_SIZE_ 8
#define UPCR_PSHARED_SIZE_ 8
upcr_shared_ptr_t u;
upcr_shared_ptr_t v;
upcr_pshared_ptr_t sum;
upcr_pshared_ptr_t steps = UPCR_INITIALIZED_PSHARED;
upcr_shared_ptr_t table = UPCR_INITIALIZED_SHARED;
typedef int _type_mine[3];
_type_mine UPCR_TLD_DEFINE(mine, 12, 4) = { 7, 8, 9 };
int UPCR_TLD_DEFINE_TENTATIVE(count, 4, 4);
upcr_pshared_ptr_t UPCR_TLD_DEFINE_TENTATIVE(lookup, 8, 8);

void UPCRI_ALLOC_stencil_1234567890(void) {
UPCR_BEGIN_FUNCTION();
upcr_startup_shalloc_t _bupc_info[] = {
UPCRT_STARTUP_SHALLOC(u, 32, 6, 1, 8, "A24H_R4_d"),
UPCRT_STARTUP_SHALLOC(v, 32, 6, 1, 8, "A24H_R4_d"),
UPCRT_STARTUP_SHALLOC(table, 12, 2, 1, 4, "A6H_R3_i"),
 };
upcr_startup_pshalloc_t _bupc_pinfo[] = {
UPCRT_STARTUP_PSHALLOC(sum, 8, 1, 0, 8, "R1_d"),
UPCRT_STARTUP_PSHALLOC(steps, 4, 1, 0, 4, "R1_i"),
 };

UPCR_SET_SRCPOS("_stencil_1234567890_ALLOC",0);
upcr_startup_shalloc(_bupc_info, sizeof(_bupc_info) / sizeof(upcr_startup_shalloc_t));
upcr_startup_pshalloc(_bupc_pinfo, sizeof(_bupc_pinfo) / sizeof(upcr_startup_pshalloc_t));
}

void UPCRI_INIT_stencil_1234567890(void) {
UPCR_BEGIN_FUNCTION();
int32_t _bupc_steps_val = 40;
int32_t _bupc_table_val[5] = { 10, 20, 30, 40, 50 };
upcr_startup_arrayinit_diminfo_t _bupc_table_diminfos[] = { { 5, 6, 1 } };
UPCR_SET_SRCPOS("_stencil_1234567890_INIT",0);
if (upcr_mythread() == 0) {
upcr_put_pshared(steps, 0, &_bupc_steps_val, 4);
}
upcr_startup_initarray(table, _bupc_table_val, _bupc_table_diminfos, 1, 4, 3);
}

#line 30 "stencil.upc"
static _IEEE64 relax(
  int n,
  int times)
#line 30 "stencil.upc"
{
#line 30 "stencil.upc"
  UPCR_BEGIN_FUNCTION();
  register _INT32 _bupc_comma;
  int i;
  int t;
  _IEEE64 _bupc_spill0;
  _IEEE64 _bupc_spill1;
  _IEEE64 _bupc_spill2;
  _IEEE64 local;
  upcr_shared_ptr_t _bupc_Mptra0;
  upcr_shared_ptr_t _bupc_Mptra1;

  t = 0;
  while(t < times)
  {
    if((*((_INT32 *) UPCR_TLD_ADDR( upcr_forall_control ))))
    {
      upcri_err("nested");
    }
    else
    {
      (*((_INT32 *) UPCR_TLD_ADDR( upcr_forall_control ))) = 1;
      i = 0;
      while(i < n)
      {
        _bupc_Mptra0 = UPCR_ADD_SHARED(u, 8ULL, i, 4ULL);
        _bupc_comma = upcr_hasMyAffinity_shared(_bupc_Mptra0);
        if(_bupc_comma != 0)
        {
          _bupc_spill0 = 0.0;
          _bupc_spill2 = 0.0;
          if(i > 0)
          {
            _bupc_Mptra1 = UPCR_ADD_SHARED(u, 8ULL, (_INT64)(i) + -1LL, 4ULL);
            UPCR_GET_SHARED(&_bupc_spill0, _bupc_Mptra1, 0, 8);
          }
          UPCR_GET_SHARED(&_bupc_spill1, _bupc_Mptra0, 0, 8);
          if(i < (n + -1))
          {
            _bupc_Mptra1 = UPCR_ADD_SHARED(u, 8ULL, i + 1, 4ULL);
            _bupc_spill2 = UPCR_GET_SHARED_DOUBLEVAL(_bupc_Mptra1, 0);
          }
          _bupc_spill1 = (_bupc_spill1 + (_bupc_spill0 + _bupc_spill2) / 2.0) / 2.0;
          UPCR_PUT_SHARED_DOUBLEVAL(UPCR_ADD_SHARED(v, 8ULL, i, 4ULL), 0, _bupc_spill1);
        }
        _1 :;
        i = i + 1;
      }
      (*((_INT32 *) UPCR_TLD_ADDR( upcr_forall_control ))) = 0;
    }
    upcr_barrier(1393070367, 1);
    i = 0;
    while(i < n)
    {
      _bupc_Mptra0 = UPCR_ADD_SHARED(v, 8ULL, i, 4ULL);
      if(UPCR_THREADOF_SHARED(_bupc_Mptra0) == (_UINT64)(((int) upcr_mythread () )))
      {
        UPCR_MEMCPY(UPCR_ADD_SHARED(u, 8ULL, i, 4ULL), _bupc_Mptra0, 8ULL);
      }
      i = i + 1;
    }
    upcr_barrier(t, 0);
    t = t + 1;
  }
  local = 0.0;
  for(i = 0; i < n; i = i + 1)
  {
    if(upcr_hasMyAffinity_shared(UPCR_ADD_SHARED(u, 8ULL, i, 4ULL)))
    {
      local = local + *(_IEEE64 *) upcr_shared_to_local(UPCR_ADD_SHARED(u, 8ULL, i, 4ULL));
    }
  }
  UPCR_EXIT_FUNCTION();
  return local;
} /* relax */

#line 60 "stencil.upc"
extern int user_main(
  int argc,
  char ** argv)
#line 60 "stencil.upc"
{
#line 60 "stencil.upc"
  UPCR_BEGIN_FUNCTION();
  int n;
  int i;
  int _bupc_spillld0;
  _IEEE64 mysum;
  _IEEE64 all;
  _IEEE64 old;
  upcr_shared_ptr_t lock;
  _IEEE64 expected[3][4 * 6 * 64];

  n = ((int) upcr_threads () ) * 24;
  lock = upcr_all_lock_alloc();
  if(argc != 2 || *argv[1] != 'x')
  {
    upcri_err("arguments");
  }
  i = upcrt_forall_start(0, 1, 0, 1);
  if(i != ((int) upcr_mythread () ))
  {
    upcri_err("forall start");
  }
  if(upcrt_gcd(84, -36) != 12)
  {
    upcri_err("gcd");
  }
  for(i = 0; i < n; i = i + 1)
  {
    if(upcr_hasMyAffinity_shared(UPCR_ADD_SHARED(u, 8ULL, i, 4ULL)))
    {
      old = (i * 7) % 11;
      upcrt_memput_nb(UPCR_ADD_SHARED(u, 8ULL, i, 4ULL), &old, 8ULL);
    }
  }
  upcr_notify(0, UPCR_BARRIERFLAG_ANONYMOUS);
  upcr_wait(0, UPCR_BARRIERFLAG_ANONYMOUS);
  UPCR_GET_PSHARED(&_bupc_spillld0, steps, 0, 4);
  mysum = relax(n, _bupc_spillld0);
  upcr_lock(lock);
  UPCR_GET_PSHARED(&old, sum, 0, 8);
  old = old + mysum;
  UPCR_PUT_PSHARED_STRICT(sum, 0, &old, 8);
  upcr_unlock(lock);
  upcr_barrier(3, 0);
  /* the same by one thread */
  for(i = 0; i < n; i = i + 1) expected[0][i] = (i * 7) % 11;
  while(_bupc_spillld0 > 0)
  {
    for(i = 0; i < n; i = i + 1)
    {
      expected[1][i] = (expected[0][i] + ((i > 0 ? expected[0][i - 1] : 0.0) + (i < n - 1 ? expected[0][i + 1] : 0.0)) / 2.0) / 2.0;
    }
    for(i = 0; i < n; i = i + 1) expected[0][i] = expected[1][i];
    _bupc_spillld0 = _bupc_spillld0 - 1;
  }
  all = 0.0;
  for(i = 0; i < n; i = i + 1)
  {
    UPCR_GET_SHARED(&old, UPCR_ADD_SHARED(u, 8ULL, i, 4ULL), 0, 8);
    if(old != expected[0][i])
    {
      upcri_err("element %d", i);
    }
    all = all + old;
  }
  UPCR_GET_PSHARED(&old, sum, 0, 8);
  if(fabs(all - old) > 1e-9 * fabs(all))
  {
    upcri_err("sum");
  }
  /* initial values: five, then zeros */
  for(i = 0; i < 6 * ((int) upcr_threads () ); i = i + 1)
  {
    _bupc_spillld0 = (_INT32)(UPCR_GET_SHARED_VAL(UPCR_ADD_SHARED(table, 4ULL, i, 3ULL), 0, 4));
    if(_bupc_spillld0 != (i < 5 ? 10 * (i + 1) : 0))
    {
      upcri_err("table[%d] is %d", i, _bupc_spillld0);
    }
  }
  if((*((_type_mine *) UPCR_TLD_ADDR( mine )))[2] != 9 || (*((int *) UPCR_TLD_ADDR( count ))) != 0)
  {
    upcri_err("thread-local data");
  }
  if(!UPCR_ISNULL_PSHARED(*((upcr_pshared_ptr_t *) UPCR_TLD_ADDR( lookup ))))
  {
    upcri_err("null");
  }
  (*((upcr_pshared_ptr_t *) UPCR_TLD_ADDR( lookup ))) = UPCR_ADD_PSHARED1(steps, 4ULL, 0);
  if(!UPCR_ISEQUAL_PSHARED_PSHARED(*((upcr_pshared_ptr_t *) UPCR_TLD_ADDR( lookup )), steps))
  {
    upcri_err("equal");
  }
  if(other_file(5) != 5.0 * ((int) upcr_threads () ))
  {
    upcri_err("other file");
  }
  if(((int) upcr_mythread () ) == 0)
  {
    upcr_lock_free(lock);
    printf("passed\n");
  }
  UPCR_EXIT_FUNCTION();
  return 0;
} /* user_main */

#line 1 "_SYSTEM"
/* upcc-generated strings for configuration consistency checks */
GASNETT_IDENT(UPCRI_IdentString_stencil_o_1_GASNetConfig_obj,
 "$GASNetConfig: (stencil.o) " GASNET_CONFIG_STRING " $");
GASNETT_IDENT(UPCRI_IdentString_stencil_o_1_UPCRConfig_obj,
 "$UPCRConfig: (stencil.o) " UPCR_CONFIG_STRING UPCRI_THREADCONFIG_STR " $");
GASNETT_IDENT(UPCRI_IdentString_stencil_o_1_ALLOC, "$UPCRAllocFn: (stencil.trans.c) UPCRI_ALLOC_stencil_1234567890 $");
GASNETT_IDENT(UPCRI_IdentString_stencil_o_1_INIT, "$UPCRInitFn: (stencil.trans.c) UPCRI_INIT_stencil_1234567890 $");
