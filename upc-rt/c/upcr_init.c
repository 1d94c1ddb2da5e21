/* Start of programs whose main is C or C++, and of translated files: bupc_init, the UPCRL_ variables that a link step may define, and the
 * functions of bupc_extern.h. Static shared data come from both kinds of objects: those that upcc compiled list theirs in sections,
 * translated files have functions UPCRI_ALLOC_... and UPCRI_INIT_..., which the runtime finds in the executable's symbols. */
#include "upcr.h"
#include "bupc_extern.h"

int UPCRL_static_thread_count __attribute__((__weak__)) = 0;
uintptr_t UPCRL_default_shared_size __attribute__((__weak__)) = 0;
uintptr_t UPCRL_default_shared_offset __attribute__((__weak__)) = 0;
int UPCRL_progress_thread __attribute__((__weak__)) = 0;
uintptr_t UPCRL_default_cache_size __attribute__((__weak__)) = 0;
int UPCRL_attach_flags __attribute__((__weak__)) = UPCR_ATTACH_ENV_OVERRIDE;
upcr_thread_t UPCRL_default_pthreads_per_node __attribute__((__weak__)) = 0;
const char *UPCRL_main_name __attribute__((__weak__)) = "main";
void (*UPCRL_pre_spawn_init)(void) __attribute__((__weak__)) = 0;
void (*UPCRL_per_pthread_init)(void) __attribute__((__weak__)) = 0;
void (*UPCRL_cache_init)(void *start, uintptr_t len) __attribute__((__weak__)) = 0;
void (*UPCRL_heap_init)(void *start, uintptr_t len) __attribute__((__weak__)) = 0;
void (*UPCRL_static_init)(void *start, uintptr_t len) __attribute__((__weak__)) = 0;
void (*UPCRL_mpi_init)(int *argc, char ***argv) __attribute__((__weak__)) = 0;
void (*UPCRL_mpi_finalize)(void) __attribute__((__weak__)) = 0;
char UPCRL_shared_begin[1] __attribute__((__weak__)), UPCRL_shared_end[1] __attribute__((__weak__));

/* common: translated files define it as well */
int32_t upcr_forall_control __attribute__((__common__));

extern const struct __upc_shrec __start_upc_shvars[] __attribute__((__weak__)), __stop_upc_shvars[] __attribute__((__weak__));
extern const __upc_initfn __start_upc_inits[] __attribute__((__weak__)), __stop_upc_inits[] __attribute__((__weak__));
/* of translated files compiled for 16-byte pointers, and of objects of upcc */
extern const int __upcr_wide __attribute__((__weak__));
void __upcr_start(int argc, char **argv, const struct __upc_image *img);
void *__upcr_own_heap(unsigned long *bytes);
void __upcr_run_found(const char *prefix, void *anchor, const char *anchor_name);
#define TENTATIVE(type, name, args) extern type (*bupc_tentative_##name) args __attribute__((__weak__));
TENTATIVE(void, init, (int *, char ***))
TENTATIVE(void, init_reentrant, (int *, char ***, int (*)(int, char **)))
TENTATIVE(void, exit, (int))
TENTATIVE(int, mythread, (void))
TENTATIVE(int, threads, (void))
TENTATIVE(char *, getenv, (const char *))
TENTATIVE(void, notify, (int))
TENTATIVE(void, wait, (int))
TENTATIVE(void, barrier, (int))
TENTATIVE(void *, alloc, (size_t))
TENTATIVE(void *, all_alloc, (size_t, size_t))
TENTATIVE(void, free, (void *, int))
TENTATIVE(void, all_free, (void *, int))
TENTATIVE(int, threadof, (void *))
TENTATIVE(void, process_thread_layout, (int *, int *))
TENTATIVE(void, config_info, (const char **, const char **, const char **, int *, int *, int *, int *, size_t *))
extern int bupc_tentative_version_major __attribute__((__weak__)), bupc_tentative_version_minor __attribute__((__weak__));

/* before main, so that a program can look at the variables to find out whether there is a runtime */
__attribute__((__constructor__)) static void fill_tentative(void)
{
#define FILL(name, function) if (&bupc_tentative_##name) bupc_tentative_##name = function
  FILL(init, bupc_init);
  FILL(init_reentrant, bupc_init_reentrant);
  FILL(exit, bupc_exit);
  FILL(mythread, bupc_extern_mythread);
  FILL(threads, bupc_extern_threads);
  FILL(getenv, bupc_extern_getenv);
  FILL(notify, bupc_extern_notify);
  FILL(wait, bupc_extern_wait);
  FILL(barrier, bupc_extern_barrier);
  FILL(alloc, bupc_extern_alloc);
  FILL(all_alloc, bupc_extern_all_alloc);
  FILL(free, bupc_extern_free);
  FILL(all_free, bupc_extern_all_free);
  FILL(threadof, bupc_extern_threadof);
  FILL(process_thread_layout, bupc_extern_process_thread_layout);
  FILL(config_info, bupc_extern_config_info);
  if (&bupc_tentative_version_major)
    bupc_tentative_version_major = 1;
  if (&bupc_tentative_version_minor)
    bupc_tentative_version_minor = 3;
}

static int no_main(int argc, char **argv)
{
  (void)argc; (void)argv;
  return 0;
}

extern const struct __upc_linked __upc_linked __attribute__((__weak__));

static void start(int *argc, char ***argv)
{
  static struct __upc_linked linked = { 0, -1, -1 };
  struct __upc_image img;
  unsigned long bytes;
  void *heap;
  memset(&img, 0, sizeof img);
  img.abi = __UPC_ABI;
  img.struct_pts = &__upcr_wide != 0;
  img.static_threads = UPCRL_static_thread_count;
  img.main = no_main;
  img.shrec_begin = __start_upc_shvars;
  img.shrec_end = __stop_upc_shvars;
  img.init_begin = __start_upc_inits;
  img.init_end = __stop_upc_inits;
  img.heap_bytes = UPCRL_default_shared_size;
  img.name = UPCRL_main_name;
  if (UPCRL_attach_flags & UPCR_ATTACH_REQUIRE_SIZE)
    linked.require_size = 1;
  if (&__upc_linked)
    linked = __upc_linked;
  img.linked = &linked;
  if (UPCRL_mpi_init)
    UPCRL_mpi_init(argc, argv);
  __upcr_start(*argc, *argv, &img);
  heap = __upcr_own_heap(&bytes);
  if (UPCRL_pre_spawn_init)
    UPCRL_pre_spawn_init();
  if (UPCRL_per_pthread_init)
    UPCRL_per_pthread_init();
  if (UPCRL_cache_init)
    UPCRL_cache_init(heap, UPCRL_default_cache_size);
  if (UPCRL_heap_init)
    UPCRL_heap_init(heap, bytes);
  if (UPCRL_static_init) {
    UPCRL_static_init(heap, bytes);
  } else {
    __upcr_run_found("UPCRI_ALLOC_", (void *)bupc_init_reentrant, "bupc_init_reentrant");
    upcr_barrier(0, UPCR_BARRIERFLAG_ANONYMOUS);
    __upcr_run_found("UPCRI_INIT_", (void *)bupc_init_reentrant, "bupc_init_reentrant");
  }
  upcr_barrier(0, UPCR_BARRIERFLAG_ANONYMOUS);
}

void bupc_init(int *argc, char ***argv) { start(argc, argv); }

void bupc_init_reentrant(int *argc, char ***argv, int (*pmain)(int, char **))
{
  start(argc, argv);
  if (pmain)
    bupc_exit(pmain(*argc, *argv));
}

void bupc_exit(int status)
{
  if (UPCRL_mpi_finalize)
    UPCRL_mpi_finalize();
  upcr_exit(status);
}

/* ---- bupc_extern.h ---- */
int bupc_extern_mythread(void) { return (int)upcr_mythread(); }
int bupc_extern_threads(void) { return (int)upcr_threads(); }
char *bupc_extern_getenv(const char *name) { return getenv(name); }
void bupc_extern_notify(int value) { upcr_notify(value, 0); }
void bupc_extern_wait(int value) { upcr_wait(value, 0); }
void bupc_extern_barrier(int value) { upcr_barrier(value, 0); }
/* by thread and offset, since programs of both kinds of pointers link this */
int __upc_locate(const void *, unsigned *, unsigned long *);
static void *mine(unsigned long o)
{
  return o ? __upc_rt.base + __upc_rt.mythread * __upc_rt.stride + o : (void *)0;
}
void *bupc_extern_alloc(size_t n) { return mine(__upc_alloc_local(n)); }
void *bupc_extern_all_alloc(size_t nblocks, size_t blocksz) { return mine(__upc_alloc_global(nblocks, blocksz, 1)); }
/* an object starts on `thread`, or on the thread in whose memory the address lies */
static void free_object(void *p, int thread, int collective)
{
  unsigned t = 0;
  unsigned long o = 0;
  if (p && !__upc_locate(p, &t, &o))
    upcri_err("bupc_extern_free: %p is no address of shared memory", p);
  __upc_free(p && thread >= 0 ? (unsigned)thread : t, o, collective);
}
void bupc_extern_free(void *p, int thread) { free_object(p, thread, 0); }
void bupc_extern_all_free(void *p, int thread) { free_object(p, thread, 1); }
int bupc_extern_threadof(void *p)
{
  unsigned t;
  unsigned long o;
  return __upc_locate(p, &t, &o) ? (int)t : -1;
}
void bupc_extern_process_thread_layout(int *num_threads, int *first_thread)
{
  *num_threads = 1;
  *first_thread = (int)upcr_mythread();
}
void bupc_extern_config_info(const char **upcr_config, const char **gasnet_config, const char **version, int *major, int *minor,
                             int *debug, int *pthreads, size_t *runtime_size)
{
  if (upcr_config) *upcr_config = UPCR_CONFIG_STRING;
  if (gasnet_config) *gasnet_config = GASNET_CONFIG_STRING;
  if (version) *version = "1.0.0";
  if (major) *major = UPCR_RUNTIME_SPEC_MAJOR;
  if (minor) *minor = UPCR_RUNTIME_SPEC_MINOR;
  if (debug) *debug = 0;
  if (pthreads) *pthreads = 0;
  if (runtime_size) *runtime_size = sizeof(struct __upc_rt);
}

/* ---- helpers of translated files ---- */
int upcrt_gcd(int a, int b)
{
  while (b != 0) {
    int r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/* the first value lo, lo + step, ... of a upc_forall with affinity start + scale * i to this thread; one that is no value of this thread if
 * it has none */
int _upcrt_forall_start(int start_thread, int step, int lo, int scale)
{
  const int threads = (int)upcr_threads(), me = (int)upcr_mythread();
  int k;
  for (k = 0; k < threads; k++) {
    long at = ((long)start_thread + (long)scale * k) % threads;
    if ((at + threads) % threads == me)
      return lo + k * step;
  }
  return step > 0 ? 0x7fffffff : -0x7fffffff - 1;
}

void _upcrt_memput_nb(upcr_shared_ptr_t dst, const void *src, size_t n) { upcr_memput(dst, src, n); }
