/* Uses shared objects made of _part.upc: `one`, linked (LINKED) or loaded before main (EARLY), and those that are named by
   the arguments: NAME FILE... */
#include "check.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

shared int in_program[THREADS];
shared int in_all;
shared [2] int after[7 * THREADS] = {5};

#ifdef LINKED
extern shared int one_given, one_cyclic[3 * THREADS];
extern int one_calls;
int one_fresh(void), one_use(void);
#endif
#ifdef EARLY
static void *early;
static void __attribute__((__constructor__)) before_main(void) { early = dlopen(getenv("EARLY"), RTLD_NOW); }
#endif

static int (*function(void *library, const char *name, const char *what))(void)
{
    char text[100];
    snprintf(text, sizeof text, "%s_%s", name, what);
    int (*f)(void) = (int (*)(void))dlsym(library, text);
    CHECK(f != NULL);
    return f;
}

/* What is freed was used before. */
static void fill_heap(void)
{
    enum { BLOCKS = 20 };
    shared char *all[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        all[i] = upc_all_alloc(THREADS, 1000 * (i + 1));
        memset((char *)&all[i][MYTHREAD], -1, 1000 * (i + 1));
    }
    upc_barrier;
    for (int i = 0; i < BLOCKS; i++)
        upc_all_free(all[i]);
}

int main(int argc, char **argv)
{
    CHECK_EQ(after[0], 5);
    in_program[MYTHREAD] = MYTHREAD;
    upc_barrier;
#ifdef LINKED
    CHECK_EQ(one_fresh(), 0);
    CHECK_EQ(one_given, 10);
    CHECK_EQ(one_use(), 0);
    CHECK_EQ(one_cyclic[THREADS], THREADS + 10);
    CHECK_EQ(one_calls, 7 + MYTHREAD);
#endif
#ifdef EARLY
    CHECK(early != NULL);
    CHECK_EQ(function(early, "one", "fresh")(), 0);
    CHECK_EQ(function(early, "one", "use")(), 0);
#endif
    fill_heap();
    for (int i = 1; i + 1 < argc; i += 2) {
        void *library = dlopen(argv[i + 1], RTLD_NOW);
        if (library == NULL)
            fprintf(stderr, "%s\n", dlerror());
        CHECK(library != NULL);
        CHECK_EQ(function(library, argv[i], "fresh")(), 0);
        CHECK_EQ(function(library, argv[i], "use")(), 0);
        /* It stays, and so do its variables; no thread waits for the others. */
        dlclose(library);
        if (MYTHREAD == 0)
            CHECK(dlopen(argv[i + 1], RTLD_NOW) == library);
    }
    CHECK_EQ(after[0], 5);
    CHECK_EQ(in_all, atoi(getenv("SUM")));
    PASS();
}
