/* program.h: what upcc adds to a program, for tests that are written the way upcc emits C. */
#include "../../include/upcc_abi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ME ((int)__upc_rt.mythread)
#define THREADS ((int)__upc_rt.threads)
#define CHECK(x) do { if (!(x)) { printf("thread %d: line %d: %s\n", ME, __LINE__, #x); __upc_global_exit(9); } } while (0)
#define SHARED(name, bytes) \
  struct __upc_shvar name; \
  static const struct __upc_shrec name##_rec __attribute__((section("upc_shvars"), aligned(8), used)) = \
    { &name, bytes, 8, #name, 0, 0, 0 }
#define INIT(f) static const __upc_initfn f##_init __attribute__((section("upc_inits"), aligned(8), used)) = f

/* memory of thread t, directly or as a copy */
static long __attribute__((unused)) read_long(unsigned t, unsigned long o) { long v; __upc_get(&v, t, o, sizeof v); return v; }
static void __attribute__((unused)) write_long(unsigned t, unsigned long o, long v) { __upc_put(t, o, &v, sizeof v); }

extern const struct __upc_shrec __start_upc_shvars[] __attribute__((weak)), __stop_upc_shvars[] __attribute__((weak));
extern const __upc_initfn __start_upc_inits[] __attribute__((weak)), __stop_upc_inits[] __attribute__((weak));
static int user_main(int argc, char **argv);
#ifndef STATIC_THREADS
#define STATIC_THREADS 0
#endif
int main(int argc, char **argv)
{
  static struct __upc_image image;
#ifdef __UPC_PTS_STRUCT
  const int wide = 1;
#else
  const int wide = 0;
#endif
  image = (struct __upc_image){ __UPC_ABI, wide, STATIC_THREADS, user_main, __start_upc_shvars, __stop_upc_shvars,
    __start_upc_inits, __stop_upc_inits, 0, "test", 0 };
  return __upc_run(argc, argv, &image);
}
