/* A program in C that loads a shared object of UPC before it starts UPC's threads, and another one after that. */
#include <dlfcn.h>
#include <stdio.h>
#include "bupc_extern.h"

void fill(void);

static int call(void *library, const char *name)
{
  int (*f)(void) = library ? (int (*)(void))dlsym(library, name) : 0;
  int line = f ? f() : -1;
  if (line != 0) {
    fprintf(stderr, "thread %d: %s: %d\n", bupc_extern_mythread(), name, line);
    bupc_exit(1);
  }
  return line;
}

int main(int argc, char **argv)
{
  void *one = dlopen(argv[1], RTLD_NOW), *two;
  bupc_init(&argc, &argv);
  fill();
  call(one, "one_fresh");
  call(one, "one_use");
  two = dlopen(argv[2], RTLD_NOW);
  call(two, "two_fresh");
  call(two, "two_use");
  bupc_exit(0);
  return 0;
}
