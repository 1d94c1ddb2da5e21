// Pointers to shared arrays with run-time bounds, and their sizes.
#include "check.h"

shared int a[12 * THREADS];

int main(int argc, char **argv)
{
    int n = argc + 2; /* 3, unknown to the compiler */
    shared int (*p)[n] = (shared int (*)[n])a;
    CHECK_EQ(sizeof *p, 3 * sizeof(int));
    CHECK_EQ(sizeof(shared int[n]), 3 * sizeof(int));
    CHECK_EQ(sizeof(int (*)[n]), sizeof(void *));
    for (int i = MYTHREAD; i < 12 * THREADS; i += THREADS)
        a[i] = i;
    upc_barrier;
    for (int i = 0; i < 4 * THREADS; i++, p++)
        for (int j = 0; j < 3; j++) {
            CHECK_EQ((*p)[j], 3 * i + j);
            CHECK_EQ(upc_threadof(&(*p)[j]), (3 * i + j) % THREADS);
        }
    PASS();
}
