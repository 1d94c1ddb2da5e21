/* Calls a shared object that it is linked with, or loads the one that is named. */
#include "check.h"
#include <dlfcn.h>

shared int in_program[THREADS];
#ifndef LOADED
int library_sum(int);
#endif

int main(int argc, char **argv)
{
#ifdef LOADED
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    int (*library_sum)(int) = (int (*)(int))dlsym(library, "library_sum");
    CHECK(library_sum != NULL);
#endif
    upc_barrier;
    CHECK_EQ(library_sum(MYTHREAD + 1), THREADS * (THREADS + 1) / 2);
    CHECK_EQ(in_program[THREADS - 1], THREADS);
    PASS();
}
