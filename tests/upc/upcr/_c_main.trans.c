/* a program in C around UPC functions */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bupc_extern.h"
#include "bupc_tentative.h"

int upc_ring(int mine);

static void check(int ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "thread %d: %s\n", bupc_extern_mythread(), what);
    bupc_exit(1);
  }
}

int main(int argc, char **argv)
{
  int me, n, count, first, major, minor, debug, pthreads;
  size_t size;
  const char *upcr, *gasnet, *version;
  int *mine, *all;
  bupc_init(&argc, &argv);
  me = bupc_extern_mythread();
  n = bupc_extern_threads();
  check(argc == 3 && !strcmp(argv[2], "two"), "arguments");
  check(upc_ring(10 * me) == 10 * ((me + 1) % n) + 17, "ring");
  bupc_extern_notify(5);
  bupc_extern_wait(5);
  bupc_extern_barrier(7);
  mine = (int *)bupc_extern_alloc(100);
  check(mine && bupc_extern_threadof(mine) == me, "alloc");
  memset(mine, 1, 100);
  bupc_extern_free(mine, me);
  mine = (int *)bupc_extern_alloc(100);
  bupc_extern_free(mine, -1);
  all = (int *)bupc_extern_all_alloc((size_t)n, 64);
  check(all && bupc_extern_threadof(all) == me, "all_alloc");
  all[0] = me;
  bupc_extern_barrier(8);
  bupc_extern_all_free(all, 0);
  check(bupc_extern_alloc(0) == NULL, "nothing");
  check(bupc_extern_threadof(&me) == -1, "private");
  bupc_extern_process_thread_layout(&count, &first);
  check(count == 1 && first == me, "layout");
  bupc_extern_config_info(&upcr, &gasnet, &version, &major, &minor, &debug, &pthreads, &size);
  check(strstr(upcr, "SHAREDPTRREP=") && strstr(gasnet, "CONDUIT=") && major == 3 && minor == 14 && !pthreads, "configuration");
  check(bupc_extern_getenv("PATH") && !strcmp(bupc_extern_getenv("PATH"), getenv("PATH")), "environment");
  check(bupc_tentative_version_major == 1 && bupc_tentative_version_minor >= 3, "tentative version");
  check(bupc_tentative_mythread && bupc_tentative_mythread() == me, "tentative");
  check(bupc_tentative_threads() == n && bupc_tentative_alloc && bupc_tentative_config_info, "tentative functions");
  bupc_tentative_barrier(9);
  if (me == 0)
    printf("passed\n");
  bupc_exit(0);
}
