/* A translated file by hand: static shared data, arithmetic, every kind of access, locks, barriers, through upcr.h. */
#define UPCR_WANT_MAJOR 3
#define UPCR_WANT_MINOR 6
#include "../../include/upcr.h"

#define CHECK(x) do { if (!(x)) upcri_err("thread %d: line %d: %s", (int)upcr_mythread(), __LINE__, #x); } while (0)

upcr_pshared_ptr_t foo = UPCR_INITIALIZED_PSHARED;   /* shared int foo = 3; */
upcr_pshared_ptr_t bar;                              /* shared int bar; */
upcr_shared_ptr_t arr;                               /* shared [4] double arr[8*THREADS]; */
upcr_shared_ptr_t ini = UPCR_INITIALIZED_SHARED;     /* shared [2] int ini[2][2*THREADS] = {{1,2},{3}}; */
int UPCR_TLD_DEFINE_TENTATIVE(count, 4, 4);
GASNETT_IDENT(ident, "$UPCRConfig: (upcr.c) " UPCR_CONFIG_STRING " $");

static void allocate(void *start, uintptr_t len)
{
  UPCR_BEGIN_FUNCTION();
  (void)start; (void)len;
  upcr_startup_pshalloc_t pi[] = { { &foo, 4, 1, 0, 4, "foo", "" }, UPCRT_STARTUP_PSHALLOC(bar, 4, 1, 0, 4, "") };
  upcr_startup_shalloc_t si[] = { { &arr, 32, 2, 1, 8, "arr", "" }, { &ini, 8, 2, 1, 4, "ini", "" } };
  upcr_startup_pshalloc(pi, 2);
  upcr_startup_shalloc(si, 2);
  upcr_notify(0, UPCR_BARRIERFLAG_ANONYMOUS);
  upcr_wait(0, UPCR_BARRIERFLAG_ANONYMOUS);
  if (upcr_mythread() == 0)
    *(int *)upcr_pshared_to_local(foo) = 3;
  int init[2][2] = { { 1, 2 }, { 3, 0 } };
  upcr_startup_arrayinit_diminfo_t dim[] = { { 2, 2, 0 }, { 2, 2, 1 } };
  upcr_startup_initarray(ini, init, dim, 2, 4, 2);
}

static int user_main(int argc, char **argv)
{
  UPCR_BEGIN_FUNCTION();
  int me = (int)upcr_mythread(), n = (int)upcr_threads(), v = 0;
  CHECK(argc == 2 && !strcmp(argv[1], "arg") && n == (int)upcr_nodes() && me == (int)upcr_mynode());
  upcr_get_pshared(&v, foo, 0, 4);
  CHECK(v == 3);
  CHECK(upcr_get_pshared_val(bar, 0, 4) == 0);
  /* the initialised array: row i starts at element 2n*i */
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2 * n; j++) {
      upcr_get_shared(&v, upcr_add_shared(ini, 4, i * 2 * n + j, 2), 0, 4);
      CHECK(v == (j < 2 ? (int[]){ 1, 2, 3, 0 }[2 * i + j] : 0));
    }
  /* blocks of four, written by their owners, read by all */
  for (int i = 0; i < 8 * n; i++) {
    upcr_shared_ptr_t p = upcr_add_shared(arr, 8, i, 4);
    CHECK((int)upcr_threadof_shared(p) == i / 4 % n && (int)upcr_phaseof_shared(p) == i % 4);
    CHECK(upcr_sub_shared(p, arr, 8, 4) == i);
    if (upcr_hasMyAffinity_shared(p)) {
      CHECK(upcr_get_shared_doubleval(p, 0) == 0.0);
      upcr_put_shared_doubleval(p, 0, i + 0.5);
      CHECK(upcr_isequal_shared_local(p, upcr_shared_to_local(p)));
      CHECK(upcr_isequal_shared_shared(upcr_local_to_shared(upcr_shared_to_local(p)), p));
    }
  }
  upcr_barrier(0, UPCR_BARRIERFLAG_ANONYMOUS);
  for (int i = 0; i < 8 * n; i++)
    CHECK(upcr_get_shared_doubleval_strict(upcr_add_shared(arr, 8, i, 4), 0) == i + 0.5);
  /* a counter under a lock, through value accesses of every width */
  upcr_shared_ptr_t lock = upcr_all_lock_alloc();
  for (int i = 0; i < 200; i++) {
    upcr_lock(lock);
    upcr_put_pshared_val(bar, 0, upcr_get_pshared_val(bar, 0, 4) + 1, 4);
    upcr_unlock(lock);
  }
  upcr_notify(7, 0);
  while (!upcr_try_wait(7, 0)) ;
  CHECK(upcr_get_pshared_val_strict(bar, 0, 4) == 200u * n);
  CHECK(upcr_lock_attempt(lock) || n > 1);
  upcr_barrier(0, 0);
  upcr_all_lock_free(lock);
  upcr_shared_ptr_t all = upcr_all_alloc(n, 64), right = upcr_add_shared(all, 64, (me + 1) % n, 1);
  CHECK((int)upcr_threadof_shared(right) == (me + 1) % n);
  for (int size = 1; size <= 8; size++) {
    upcr_register_value_t x = 0x8182838485868788ul, got;
    upcr_put_shared_val(right, 8, x, size);
    got = upcr_wait_syncnb_valget(upcr_get_nb_shared_val(right, 8, size));
    CHECK(got == (size == 8 ? x : x & ((1ul << 8 * size) - 1)));
  }
  float f = 2.5f;
  upcr_handle_t h[2] = { upcr_put_nb_shared(right, 16, &f, 4), UPCR_INVALID_HANDLE };
  upcr_wait_syncnb_all(h, 2);
  CHECK(upcr_get_shared_floatval(right, 16) == 2.5f);
  upcr_memset(right, 0x11, 64);
  upcr_barrier(1, 0);
  char buf[64];
  upcr_memget(buf, upcr_add_shared(all, 64, me, 1), 64);
  for (int i = 0; i < 64; i++) CHECK(buf[i] == 0x11);
  CHECK(upcr_cast(upcr_shared_resetphase(all)) || n > 1);
  CHECK(upcr_isnull_shared(upcr_null_shared) && !upcr_shared_to_local(upcr_null_shared));
  CHECK(upcr_affinitysize(100, 10, 0) >= upcr_affinitysize(100, 10, n - 1));
  *(int *)UPCR_TLD_ADDR(count) = me;
  CHECK(count == me);
  upcr_all_free(all);
  upcr_barrier(2, 0);
  if (me == 0) printf("upcr ok\n");
  UPCR_EXIT_FUNCTION();
  return 0;
}

int main(int argc, char **argv)
{
  struct upcr_startup_spawnfuncs f = { 0, 0, upcri_init_cache, upcri_init_heaps, allocate, user_main };
  upcr_startup_init(&argc, &argv, 0, 0, "user_main");
  upcr_startup_attach(64 << 20, 0, UPCR_ATTACH_ENV_OVERRIDE);
  upcr_startup_spawn(&argc, &argv, 0, 0, &f);
  upcr_exit(1);
}
