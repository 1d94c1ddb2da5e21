// Predefined names.
// static: yes
#include "check.h"

#if __UPC__ != 1 || __UPC_VERSION__ != 201311L
#error version
#endif
#if defined __UPC_STATIC_THREADS__ && defined __UPC_DYNAMIC_THREADS__
#error both environments
#endif
#if !defined __UPC_STATIC_THREADS__ && !defined __UPC_DYNAMIC_THREADS__
#error no environment
#endif
#ifdef __BERKELEY_UPC__
#error not that translator
#endif
#ifndef __BERKELEY_UPC_RUNTIME__
#error runtime
#endif

shared int seen[THREADS];

int main(int argc, char **argv)
{
    CHECK(argc == 1 && argv[0] != NULL && argv[1] == NULL);
    CHECK(MYTHREAD >= 0 && MYTHREAD < THREADS);
    CHECK_EQ(_Generic(MYTHREAD, int: 1, default: 0), 1);
    CHECK_EQ(_Generic(THREADS, int: 1, default: 0), 1);
    seen[MYTHREAD] = MYTHREAD + 1;
    upc_barrier;
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ(seen[t], t + 1);
    PASS();
}
