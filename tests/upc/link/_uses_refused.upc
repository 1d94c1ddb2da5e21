/* Loads the shared object that the first argument names, on the threads whose numbers the others give, or all. */
#include "check.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef OWN
shared int one_given = 1;
#endif
shared int in_program[THREADS], in_all;

int main(int argc, char **argv)
{
    const char *name = argv[1];
    int mine = argc == 2;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "lib", 3) == 0) {
            if (MYTHREAD == 1)
                name = argv[i];
            mine = 1;
        } else {
            mine |= atoi(argv[i]) == MYTHREAD;
        }
    }
    upc_barrier;
#ifdef INSIDE
    upc_notify;
#endif
    if (mine && dlopen(name, RTLD_NOW) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
#ifdef INSIDE
    upc_wait;
#endif
#ifndef NO_BARRIER
    if (getenv("NAMED"))
        upc_barrier 5;
    upc_barrier;
    if (getenv("ALLOCATES"))
        upc_all_alloc(10, 10);
    upc_barrier;
#endif
    printf("all is well\n");
    return 0;
}
