/* C written by hand against upcr.h: it starts the runtime in pieces, with hooks. */
#define UPCR_WANT_MAJOR 3
#define UPCR_WANT_MINOR 14
#include "upcr.h"
#include "upcr_proxy.h"
#include <errno.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) upcri_err("thread %d: line %d: %s", (int)upcr_mythread(), __LINE__, #x); } while (0)
#define CHECKED(rule) do { upcr_barrier(0, UPCR_BARRIERFLAG_ANONYMOUS); if (upcr_mythread() == 0) printf("checked: %s\n", rule); } while (0)
#define ME ((int)upcr_mythread())
#define N ((int)upcr_threads())
#define LEFT ((upcr_thread_t)((ME + N - 1) % N))
#define RIGHT ((upcr_thread_t)((ME + 1) % N))

static int hooks, argument_count;
static uintptr_t heap_length;
static upcr_shared_ptr_t arr;      /* shared [3] long arr[9*THREADS] */
static upcr_pshared_ptr_t cyc;     /* shared double cyc[4*THREADS] */
static upcr_pshared_ptr_t one = UPCR_INITIALIZED_PSHARED;   /* shared [] int one[10] */
static const upcr_shared_ptr_t null_s = UPCR_NULL_SHARED;
static const upcr_pshared_ptr_t null_p = UPCR_NULL_PSHARED;

static void pre(void) { CHECK(hooks++ == 0); }
static void per(void) { CHECK(hooks++ == 1); }
static void cache(void *start, uintptr_t len) { CHECK(hooks++ == 2 && start); (void)len; }
static void heap(void *start, uintptr_t len) { CHECK(hooks++ == 3 && start); heap_length = len; upcri_init_heaps(start, len); }
static void statics(void *start, uintptr_t len)
{
  UPCR_BEGIN_FUNCTION();
  CHECK(hooks++ == 4 && start);
  (void)len;
  {
    upcr_startup_shalloc_t s[] = { { &arr, 24, 3, 1, 8, "arr", "A9H_R3_l" } };
    upcr_startup_pshalloc_t p[] = { UPCRT_STARTUP_PSHALLOC(cyc, 8, 4, 1, 8, "A4H_R1_d"), { &one, 40, 1, 0, 4, "one", "R10_i" } };
    int values[7] = { 1, 2, 3, 4, 5, 6, 7 };
    upcr_startup_arrayinit_diminfo_t dim[] = { { 7, 10, 0 } };
    CHECK(upcr_is_init_pshared(one) && !upcr_is_init_shared(arr));
    upcr_startup_shalloc(s, 1);
    upcr_startup_pshalloc(p, 2);
    upcr_notify(0, UPCR_BARRIERFLAG_ANONYMOUS);
    upcr_wait(0, UPCR_BARRIERFLAG_ANONYMOUS);
    upcr_startup_initparray(one, values, dim, 1, 4, 0);
  }
}

/* element i */
static upcr_shared_ptr_t at(long i) { return upcr_add_shared(arr, 8, i, 3); }

static void constants(void)
{
  CHECK(sizeof(upcr_thread_t) == 4 && (upcr_thread_t)-1 > 0 && (upcr_phase_t)-1 > 0);
  CHECK(sizeof(upcr_register_value_t) == SIZEOF_UPCR_REGISTER_VALUE_T && (upcr_register_value_t)-1 > 0);
  CHECKED("register-values");
  CHECK(UPCR_MAX_BLOCKSIZE >= 1 << 20 && UPCR_MAX_THREADS >= 1024 && UPCR_PAGESIZE == 4096);
  CHECK(UPCR_PLATFORM_ENVIRONMENT == UPCR_PURE_SHARED || UPCR_PLATFORM_ENVIRONMENT == UPCR_SHARED_DISTRIBUTED ||
        UPCR_PLATFORM_ENVIRONMENT == UPCR_PURE_DISTRIBUTED || UPCR_PLATFORM_ENVIRONMENT == UPCR_OTHER);
  CHECKED("parameters");
  CHECK(UPCR_RUNTIME_SPEC_MAJOR == 3 && UPCR_RUNTIME_SPEC_MINOR >= 14);
  CHECK(strstr(UPCR_CONFIG_STRING, "SHAREDPTRREP=") && strstr(UPCR_CONFIG_STRING, "PLATFORMENV="));
  CHECKED("versions");
  CHECK(upcr_mynode() == upcr_mythread() && upcr_nodes() == upcr_threads() && N >= 1 && ME < N);
  CHECK(!strcmp(upcr_getenv("PATH"), getenv("PATH")) && !upcr_getenv("SURELY_NOT_SET"));
  CHECKED("queries");
}

static void pointers(void)
{
  upcr_shared_ptr_t p = at(9 * ME / 2), q, mine = upcr_alloc(64);
  upcr_pshared_ptr_t c = upcr_add_pshared1(cyc, 8, ME), d;
  void *l = upcr_shared_to_local(mine);
  int i;
  CHECK(l && upcr_isequal_shared_shared(upcr_local_to_shared(l), mine) && upcr_isequal_pshared_local(upcr_local_to_pshared(l), l));
  upcr_local_to_shared_ref(l, &q);
  CHECK(upcr_isequal_shared_shared(q, mine));
  upcr_local_to_pshared_ref(l, &d);
  CHECK(upcr_isequal_shared_pshared(mine, d));
  q = upcr_local_to_shared_withphase(l, 2, upcr_mythread());
  CHECK(upcr_phaseof_shared(q) == 2 && upcr_threadof_shared(q) == upcr_mythread());
  upcr_local_to_shared_ref_withphase(l, 1, upcr_mythread(), &q);
  CHECK(upcr_phaseof_shared(q) == 1 && upcr_shared_to_local(q) == l);
  CHECK(upcr_isnull_shared(upcr_local_to_shared(NULL)) && upcr_shared_to_local(null_s) == NULL);
  CHECKED("local-to-shared");
  p = upcr_local_to_shared_withphase(l, 2, upcr_mythread());
  CHECK(upcr_phaseof_shared(upcr_shared_resetphase(p)) == 0);
  upcr_shared_resetphase_ref(&p);
  CHECK(upcr_phaseof_shared(p) == 0 && upcr_isequal_shared_shared(p, mine));
  CHECKED("resetphase");
  CHECK(upcr_isnull_shared(null_s) && upcr_isnull_pshared(null_p) && upcr_isnull_shared(upcr_null_shared) && upcr_isnull_pshared(upcr_null_pshared));
  CHECK(!upcr_isnull_shared(mine) && !upcr_isnull_pshared(c) && upcr_isvalid_shared(mine) && upcr_isvalid_pshared(c));
  q = mine;
  d = c;
  upcr_setnull_shared(&q);
  upcr_setnull_pshared(&d);
  CHECK(upcr_isnull_shared(q) && upcr_isnull_pshared(d));
  CHECK(upcr_threadof_shared(q) == 0 && upcr_phaseof_pshared(d) == 0 && upcr_addrfield_shared(q) == 0);
  CHECKED("null");
  for (i = 0; i < 9 * N; i++) {
    q = at(i);
    CHECK((int)upcr_threadof_shared(q) == i / 3 % N && (int)upcr_phaseof_shared(q) == i % 3);
    CHECK(upcr_sub_shared(q, arr, 8, 3) == i && upcr_sub_shared(arr, q, 8, 3) == -i);
    p = arr;
    upcr_inc_shared(&p, 8, i, 3);
    CHECK(upcr_isequal_shared_shared(p, q) && (i == 0) == upcr_isequal_shared_shared(arr, q));
    CHECK(upcr_isequal_shared_pshared(q, upcr_shared_to_pshared(q)) && upcr_isequal_pshared_shared(upcr_shared_to_pshared(q), q));
    CHECK(upcr_hasMyAffinity_shared(q) == (i / 3 % N == ME) && upcr_hasAffinity_shared(q, (upcr_thread_t)(i / 3 % N)));
    CHECK(upcr_hasMyAffinity_pshared(upcr_shared_to_pshared(q)) == (i / 3 % N == ME));
  }
  for (i = 0; i < 4 * N; i++) {
    d = upcr_add_pshared1(cyc, 8, i);
    CHECK((int)upcr_threadof_pshared(d) == i % N && upcr_sub_pshared1(d, cyc, 8) == i && upcr_hasAffinity_pshared(d, (upcr_thread_t)(i % N)));
    c = cyc;
    upcr_inc_pshared1(&c, 8, i);
    CHECK(upcr_isequal_pshared_pshared(c, d));
  }
  for (i = 0; i < 10; i++) {
    d = upcr_add_psharedI(one, 4, i);
    CHECK(upcr_sub_psharedI(d, one, 4) == i && upcr_threadof_pshared(d) == upcr_threadof_pshared(one));
    c = one;
    upcr_inc_psharedI(&c, 4, i);
    CHECK(upcr_isequal_pshared_pshared(c, d));
    CHECK((upcr_register_value_t)(i < 7 ? i + 1 : 0) == upcr_get_pshared_val(d, 0, 4));
  }
  CHECK(upcr_isequal_shared_local(null_s, NULL) && upcr_isequal_pshared_local(null_p, NULL) && !upcr_isequal_shared_local(mine, NULL));
  CHECKED("equality-and-differences");
  CHECKED("affinity");
  CHECKED("array-initialisers");
  CHECK(upcr_cast(mine) == l && upcr_cast(null_s) == NULL);
  CHECK(upcr_thread_info((size_t)ME).guaranteedCastable == UPC_CASTABLE_ALL);
  CHECK((upcr_cast(upcr_add_shared(arr, 8, 3 * (long)RIGHT, 3)) != NULL) == ((upcr_thread_info(RIGHT).guaranteedCastable & UPC_CASTABLE_STATIC) != 0));
  CHECK(upcr_thread_info(1u << 30).guaranteedCastable == 0);
  CHECK(upcr_shared_to_processlocal(mine) == l && upcri_shared_to_remote(mine) == l);
  CHECKED("castable");
  upcr_free(mine);
}

static void accesses(void)
{
  long v = 0, w[3] = { 100 + ME, 200 + ME, 300 + ME }, got[3];
  float f = 0.5f + (float)ME;
  double e = 0.25 + ME;
  upcr_handle_t h[6];
  upcr_valget_handle_t vh;
  upcr_shared_ptr_t mine = at(3 * ME), right = at(3 * (long)RIGHT);
  upcr_pshared_ptr_t pright = upcr_add_pshared1(cyc, 8, RIGHT), pmine = upcr_add_pshared1(cyc, 8, ME);
  int i;
  h[0] = upcr_put_nb_shared(right, 0, w, 8);
  h[1] = upcr_put_nb_shared(right, 8, w + 1, 8);
  w[0] = -1;   /* the source may be reused on return */
  h[2] = upcr_put_nb_shared_val(right, 16, (upcr_register_value_t)w[2], 8);
  h[3] = upcr_put_nb_pshared(pright, 0, &e, 8);
  upcr_wait_syncnb(h[0]);
  while (!upcr_try_syncnb(h[1])) {}
  upcr_wait_syncnb_all(h + 2, 2);
  CHECK(h[2] == UPCR_INVALID_HANDLE && h[3] == UPCR_INVALID_HANDLE);
  upcr_barrier(1, 0);
  h[0] = upcr_get_nb_shared(got, mine, 0, 24);
  h[1] = upcr_get_nb_pshared(&e, pmine, 0, 8);
  while (!upcr_try_syncnb_all(h, 2)) {}
  CHECK(got[0] == 100 + (int)LEFT && got[1] == 200 + (int)LEFT && got[2] == 300 + (int)LEFT && e == 0.25 + (int)LEFT);
  h[0] = upcr_get_nb_shared(&v, right, 8, 8);
  upcr_wait_syncnb_some(h, 1);
  CHECK(v == 200 + ME && upcr_try_syncnb_some(h, 1));
  upcr_wait_syncnb_strict(upcr_put_nb_shared_strict(right, 8, &v, 8));
  CHECK(upcr_try_syncnb_strict(upcr_get_nb_pshared_strict(&e, pright, 0, 8)) && e == 0.25 + ME);
  upcr_wait_syncnb(UPCR_INVALID_HANDLE);
  CHECKED("explicit");
  upcr_barrier(2, 0);
  for (i = 0; i < 3; i++) {
    v = 1000 * i + ME;
    upcr_put_nbi_shared(right, 8 * i, &v, 8);
  }
  upcr_put_nbi_pshared_val(pright, 0, 77, 8);
  upcr_wait_syncnbi_puts();
  while (!upcr_try_syncnbi_puts()) {}
  upcr_get_nbi_shared(got, right, 0, 24);
  upcr_wait_syncnbi_gets();
  CHECK(got[0] == ME && got[1] == 1000 + ME && got[2] == 2000 + ME && upcr_try_syncnbi_gets());
  upcr_get_nbi_pshared(&v, pright, 0, 8);
  upcr_wait_syncnbi_all();
  CHECK(v == 77 && upcr_try_syncnbi_all());
  CHECKED("implicit");
  upcr_begin_nbi_accessregion();
  upcr_put_nbi_shared(right, 0, &v, 8);
  upcr_get_nbi_pshared(&e, pright, 0, 8);
  upcr_wait_syncnb(upcr_end_nbi_accessregion());
  CHECK(upcr_get_shared_val(right, 0, 8) == 77);
  CHECKED("regions");
  for (i = 0; i < 4; i++) {
    const size_t n = (size_t)1 << i;
    upcr_put_shared_val(right, 0, ~(upcr_register_value_t)0, 8);
    upcr_put_shared_val(right, 0, 0x8182838485868788ul, n);
    CHECK(upcr_get_shared_val(right, 0, n) == (n == 8 ? 0x8182838485868788ul : 0x8182838485868788ul & ((1ul << 8 * n) - 1)));
    CHECK(n == 8 || upcr_get_shared_val(right, 0, 8) >> 8 * n == ~0ul >> 8 * n);
    upcr_put_shared_val_strict(right, 8, 5, n);
    upcr_put_pshared_val(pright, 0, 9, n);
    upcr_put_pshared_val_strict(pright, 0, 11, n);
    CHECK(upcr_get_shared_val_strict(right, 8, n) == 5 && upcr_get_pshared_val(pright, 0, n) == 11);
  }
  upcr_put_shared_val(right, 0, 0x1234567, 3);
  CHECK(upcr_get_shared_val(right, 0, 3) == 0x234567);
  vh = upcr_get_nb_shared_val(right, 0, 3);
  CHECK(upcr_wait_syncnb_valget(vh) == 0x234567);
  vh = upcr_get_nb_pshared_val_strict(pright, 0, 8);
  CHECK(upcr_wait_syncnb_valget(vh) == 11);
  CHECKED("values");
  upcr_put_shared_floatval(right, 4, f);
  CHECK(upcr_get_shared_floatval(right, 4) == f);
  upcr_put_pshared_doubleval(pright, 0, 2.5);
  CHECK(upcr_get_pshared_doubleval(pright, 0) == 2.5 && upcr_get_pshared_doubleval_strict(pright, 0) == 2.5);
  upcr_put_pshared_floatval_strict(pright, 0, f);
  CHECK(upcr_get_pshared_floatval_strict(pright, 0) == f);
  upcr_put_shared_type(right, 0, 123456789012l, long);
  CHECK(upcr_get_shared_type(right, 0, long) == 123456789012l && upcr_get_shared_type_strict(right, 0, long) == 123456789012l);
  upcr_put_pshared_type_strict(pright, 0, 1.5, double);
  CHECK(upcr_get_pshared_type(pright, 0, double) == 1.5);
  CHECKED("floats");
  CHECK(UPCR_ATOMIC_MEMSIZE(4) && UPCR_ATOMIC_MEMSIZE(0) >= 4 && !UPCR_ATOMIC_MEMSIZE(3));
}

static void bulk(void)
{
  enum { SIZE = 30001 };
  upcr_shared_ptr_t all = upcr_all_alloc((size_t)N, 2 * SIZE), right = upcr_add_shared(all, 2 * SIZE, RIGHT, 1);
  upcr_shared_ptr_t mine = upcr_add_shared(all, 2 * SIZE, ME, 1), back = upcr_add_shared(right, 1, SIZE, 2 * SIZE);
  char *a = UPCRI_XMALLOC(char, SIZE), *b = (char *)upcri_malloc(SIZE);
  int i;
  for (i = 0; i < SIZE; i++) a[i] = (char)(i * 7 + ME);
  upcr_memput(right, a, SIZE);
  upcr_memcpy(back, right, SIZE);
  memset(b, 0, SIZE);
  upcr_memget(b, back, SIZE);
  CHECK(!memcmp(a, b, SIZE));
  upcr_memset(back, 0x5a, SIZE - 1);
  upcr_memget(b, back, SIZE);
  CHECK(b[0] == 0x5a && b[SIZE - 2] == 0x5a && b[SIZE - 1] == a[SIZE - 1]);
  CHECKED("bulk");
  upcr_wait_syncnb(upcr_nb_memput(right, a, SIZE));
  upcr_wait_syncnb(upcr_nb_memcpy(back, right, SIZE));
  upcr_wait_syncnb(upcr_nb_memget(b, back, SIZE));
  CHECK(!memcmp(a, b, SIZE));
  upcr_wait_syncnb(upcr_nb_memset(back, 1, 100));
  upcr_nbi_memput(right, a + 1, 10);
  upcr_wait_syncnbi_puts();
  upcr_nbi_memcpy(back, right, 10);
  upcr_wait_syncnbi_all();
  upcr_nbi_memset(back, 2, 1);
  upcr_wait_syncnbi_puts();
  upcr_nbi_memget(b, back, 11);
  upcr_wait_syncnbi_gets();
  CHECK(b[0] == 2 && !memcmp(b + 1, a + 2, 9) && b[10] == 1);
  CHECKED("nb-bulk");
  upcr_waitsync(upcr_memput_nb(right, a, SIZE));
  upcr_waitsync(upcr_memcpy_nb(back, right, SIZE));
  upcr_waitsync(upcr_memset_nb(back, 3, 3));
  {
    bupc_handle_t h = upcr_memget_nb(b, back, SIZE);
    while (!upcr_trysync(h)) {}
  }
  CHECK(b[2] == 3 && !memcmp(b + 3, a + 3, SIZE - 3) && BUPC_COMPLETE_HANDLE == UPCR_INVALID_HANDLE);
  CHECKED("upc-nb-names");
  upcr_barrier(3, 0);
  CHECK(upcr_threadof_shared(mine) == upcr_mythread());
  upcr_all_free(all);
  free(a);
  free(b);
  CHECK(UPCRI_ALIGNUP(13, 8) == 16 && UPCRI_ALIGNUP(16, 8) == 16);
  CHECKED("internal-names");
}

static void memory_locks_barriers(void)
{
  upcr_shared_ptr_t p = upcr_alloc(100), g = upcr_global_alloc((size_t)N + 1, 10), all = upcr_all_alloc(3, 50), lock, own;
  int i, tries = 0;
  CHECK(upcr_hasMyAffinity_shared(p) && upcr_phaseof_shared(p) == 0 && upcr_threadof_shared(g) == 0 && upcr_threadof_shared(all) == 0);
  CHECK(upcr_isnull_shared(upcr_alloc(0)) && upcr_isnull_shared(upcr_all_alloc(0, 4)) && upcr_isnull_shared(upcr_global_alloc(4, 0)));
  CHECK(upcr_affinitysize(100, 10, 0) >= 100 / (size_t)N / 10 * 10);
  upcr_free(p);
  upcr_free(g);
  upcr_free(null_s);
  upcr_all_free(all);
  upcr_all_free(null_s);
  CHECKED("allocation");
  lock = upcr_all_lock_alloc();
  own = upcr_global_lock_alloc();
  CHECK(upcr_lock_attempt(own) == 1 && upcr_lock_attempt(own) == 0);
  upcr_unlock(own);
  upcr_lock_free(own);
  upcr_lock_free(null_s);
  if (ME == 0)
    upcr_put_pshared_val(cyc, 0, 0, 8);
  upcr_barrier(4, 0);
  for (i = 0; i < 20; i++) {
    if (i % 2)
      upcr_lock(lock);
    else
      while (!upcr_lock_attempt(lock)) tries++;
    upcr_put_pshared_val(cyc, 0, upcr_get_pshared_val(cyc, 0, 8) + 1, 8);
    upcr_unlock(lock);
  }
  upcr_barrier(5, 0);
  CHECK(upcr_get_pshared_val(cyc, 0, 8) == 20u * (unsigned)N);
  upcr_barrier(6, 0);
  upcr_all_lock_free(lock);
  CHECKED("locks");
  for (i = 0; i < 10; i++) {
    upcr_notify(i, 0);
    if (i % 2) upcr_wait(i, 0);
    else while (!upcr_try_wait(i, 0)) {}
    upcr_notify(i, UPCR_BARRIERFLAG_ANONYMOUS);
    upcr_wait(i, UPCR_BARRIERFLAG_ANONYMOUS);
    upcr_barrier(i, 0);
  }
  CHECKED("barriers");
  upcr_poll();
  upcr_poll_nofence();
  bupc_poll();
  CHECKED("polls");
}

static int later(int a, int b) { return b ? b : a; }

static void libraries(void)
{
  upcr_shared_ptr_t blocks = upcr_all_alloc((size_t)N, 64), out = upcr_all_alloc((size_t)N, (size_t)N * 8), domain;
  upcr_pshared_ptr_t perm;
  long *mine = (long *)upcr_shared_to_local(upcr_add_shared(blocks, 64, ME, 1)), *got = (long *)upcr_shared_to_local(upcr_add_shared(out, (size_t)N * 8, ME, 1));
  long old, v;
  int i;
  mine[0] = ME + 1;
  _upcr_all_broadcast(out, blocks, 8, 0);
  CHECK(got[0] == 1);
  upc_all_gather_all(out, blocks, 8, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  for (i = 0; i < N; i++) CHECK(got[i] == i + 1);
  bupc_all_reduceL(out, blocks, UPC_ADD, (size_t)N, 1, NULL, 0);
  upcr_barrier(7, 0);
  if (ME == 0) CHECK(got[0] == 1 || N > 0);
  upcr_barrier(8, 0);
  perm = upcr_shared_to_pshared(upcr_all_alloc((size_t)N, 4));
  upcr_put_pshared_val(upcr_add_pshared1(perm, 4, ME), 0, RIGHT, 4);
  mine[0] = ME;
  _upcr_all_permute(out, blocks, perm, 8, 0);
  CHECK(got[0] == (int)LEFT);
  {
    upcr_shared_ptr_t ints = upcr_all_alloc((size_t)N, 4), result = upcr_all_alloc((size_t)N, 4);
    upcr_put_shared_val(upcr_add_shared(ints, 4, ME, 1), 0, (upcr_register_value_t)(ME + 1), 4);
    _upcr_all_reduceI(result, ints, UPC_MULT, (size_t)N, 1, NULL, 0, 1);
    for (v = 1, i = 1; i <= N; i++) v *= i;
    CHECK((long)(int)upcr_get_shared_val(upcr_add_shared(result, 4, ME, 1), 0, 4) == v);
    bupc_all_reduce_allI(result, ints, UPC_NONCOMM_FUNC, (size_t)N, 1, later, 0);
    CHECK((int)upcr_get_shared_val(upcr_add_shared(result, 4, ME, 1), 0, 4) == N);
    upcr_barrier(9, 0);
    _upcr_all_prefix_reduceI(result, ints, UPC_ADD, (size_t)N, 1, NULL, 0);
    CHECK((int)upcr_get_shared_val(upcr_add_shared(result, 4, ME, 1), 0, 4) == (ME + 1) * (ME + 2) / 2);
    upcr_all_free(ints);
    upcr_all_free(result);
  }
  domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET, 0);
  v = 3;
  if (ME == 0) mine[0] = 0;
  upcr_barrier(10, 0);
  _upcr_atomic_relaxed(domain, NULL, UPC_ADD, blocks, &v, NULL);
  upcr_barrier(11, 0);
  upc_atomic_strict(domain, &old, UPC_GET, blocks, NULL, NULL);
  CHECK(old == 3 * N);
  upc_all_atomicdomain_free(domain);
  {
    upcr_shared_ptr_t s = bupc_sem_alloc(0);
    bupc_sem_postN(s, 3);
    _bupc_sem_waitN(s, 2);
    CHECK(bupc_sem_try(s) == 1 && bupc_sem_try(s) == 0);
    bupc_sem_free(s);
  }
  {
    long pair[2] = { 5, 6 }, back[2] = { 0, 0 };
    bupc_smemvec_t there = { upcr_add_shared(out, (size_t)N * 8, RIGHT, 1), 8 };
    bupc_pmemvec_t here = { pair, 8 };
    const size_t count[1] = { 8 };
    upcr_barrier(12, 0);
    upcr_waitsync(_bupc_memput_vlist_async(1, &there, 1, &here));
    here.addr = back;
    bupc_memget_vlist(1, &here, 1, &there);
    CHECK(back[0] == 5);
    bupc_memput_strided(there.addr, NULL, pair + 1, NULL, count, 0);
    bupc_memget_fstrided(back, 8, 8, 1, there.addr, 8, 8, 1);
    CHECK(back[0] == 6);
  }
  {
    char name[100], text[200];
    upcr_shared_ptr_t file;
    long word = 40 + ME, all[64];
    sprintf(name, "upcr_interface_%ld.tmp", (long)getppid());
    file = upc_all_fopen(name, UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(!upcr_isnull_shared(file));
    _upcr_all_fseek(file, 8 * ME, UPC_SEEK_SET);
    CHECK(upc_all_fwrite_local(file, &word, 8, 1, 0) == 8);
    upc_all_fsync(file);
    upc_all_fseek(file, 0, UPC_SEEK_SET);
    CHECK(upc_all_fread_local(file, all, 8, (size_t)N, 0) == 8 * N);
    for (i = 0; i < N; i++) CHECK(all[i] == 40 + i);
    CHECK(upc_all_fclose(file) == 0);
    CHECK(bupc_dump_shared(blocks, text, sizeof text) == 0 && strstr(text, "thread=0"));
    CHECK(bupc_dump_shared(blocks, text, 10) == -1 && errno == EINVAL);
    CHECK(upcr_isequal_shared_shared(bupc_inverse_cast(mine), upcr_add_shared(blocks, 64, ME, 1)));
    CHECK(upcr_isequal_shared_shared(bupc_ptradd(blocks, 1, 64, ME), upcr_add_shared(blocks, 64, ME, 1)));
  }
  {
    bupc_team_t halves = bupc_team_split(BUPC_TEAM_ALL, ME % 2, ME);
    mine[0] = 70 + ME;
    bupc_coll_wait(bupc_team_broadcast(halves, out, upcr_add_shared(blocks, 64, ME % 2, 1), 8, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC));
    CHECK(got[0] == 70 + ME % 2);
    upcr_barrier(13, 0);
  }
  CHECK(upc_ticks_to_ns(upc_ticks_now()) > 0);
  CHECKED("libraries");
  upcr_all_free(out);
  upcr_all_free(blocks);
  /* names of UPC */
  {
    upcr_shared_ptr_t p = upc_alloc(10), q = upc_all_alloc(2, 3);
    CHECK(upc_threadof(p) == (unsigned)ME && upc_phaseof(p) == 0 && upc_addrfield(p) && upc_affinitysize(10, 5, 0) >= 5);
    CHECK(upc_cast(p) == upcr_shared_to_local(upc_resetphase(p)) && upc_thread_info((size_t)ME).probablyCastable);
    upc_memset(p, 1, 10);
    upc_memput(p, "abc", 3);
    {
      char c[3];
      upc_memget(c, p, 3);
      CHECK(c[2] == 'c');
    }
    upc_free(p);
    upc_all_free(q);
    CHECK(MYTHREAD == ME && THREADS == N && UPCR_SHARED_SIZE == sizeof(upcr_shared_ptr_t));
    CHECK(UPCR_ISNULL_SHARED(null_s) && UPCR_THREADOF_PSHARED(one) == upcr_threadof_pshared(one));
  }
  CHECKED("upc-names");
}

static int user_main(int argc, char **argv)
{
  UPCR_BEGIN_FUNCTION();
  (void)argv;
  CHECK(hooks == 5 && argc == argument_count && heap_length > 1 << 20);
  CHECKED("startup");
  constants();
  pointers();
  accesses();
  bulk();
  memory_locks_barriers();
  libraries();
  if (ME == 0)
    printf("interface passed\n");
  UPCR_EXIT_FUNCTION();
  upcr_barrier(99, 0);
  if (ME == N - 1)
    upcr_global_exit(0);
  for (;;)
    upcr_poll();
}

int main(int argc, char **argv)
{
  upcr_startup_spawnfuncs_t f = { pre, per, cache, heap, statics, user_main };
  argument_count = argc;
  upcr_startup_init(&argc, &argv, 0, 0, "main");
  if (upcr_mynode() >= upcr_nodes())
    return 1;
  upcr_startup_attach(8 << 20, 0, UPCR_ATTACH_ENV_OVERRIDE | UPCR_ATTACH_SIZE_WARN);
  upcr_startup_spawn(&argc, &argv, 0, 0, &f);
  return 2;
}
