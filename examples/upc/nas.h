/* What the NAS kernels share: the benchmark's random numbers, the problem classes, and a sum over all
   threads. The kernels follow the specification in NAS Technical Reports RNR-94-007 and NAS-95-020;
   the numbers they must arrive at are the published ones. */
#ifndef EXAMPLES_NAS_H
#define EXAMPLES_NAS_H

#include <upc_relaxed.h>
#include <ctype.h>
#include <math.h>
#include "common.h"

/* Random numbers: x[k+1] = a x[k] mod 2^46, as a fraction of 2^46. */
#define NAS_A 1220703125u /* 5^13 */
#define NAS_BITS (((uint64_t)1 << 46) - 1)

static inline uint64_t nas_next(uint64_t x, uint64_t a) { return a * x & NAS_BITS; }

static inline double nas_random(uint64_t *x)
{
    *x = nas_next(*x, NAS_A);
    return (double)*x * 0x1p-46;
}

/* a^n mod 2^46: the step that skips n numbers. */
static inline uint64_t nas_power(uint64_t a, uint64_t n)
{
    uint64_t p = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            p = nas_next(p, a);
        a = nas_next(a, a);
    }
    return p;
}

/* The class named on the command line, as an index into `classes`; the first one if none is. */
static inline int nas_class(int argc, char **argv, const char *kernel, const char *classes)
{
    const char *at = classes;
    if (argc > 1 && (argc > 2 || argv[1][1] || !(at = strchr(classes, toupper(argv[1][0]))) || !*at)) {
        const int help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
        if (MYTHREAD == 0)
            fprintf(help ? stdout : stderr, "%susage: %s [CLASS]   CLASS: one of %s, default %c\n",
                    help ? "" : "there is no such class\n", kernel, classes, classes[0]);
        exit(help ? 0 : 2);
    }
    return (int)(at - classes);
}

/* The sum of one number from each thread, on every thread, the same to the last bit. One barrier: the
   parts of the last two sums are kept, since nobody gets further than one sum ahead. */
static inline double nas_sum(double mine)
{
    static shared [2] double part[THREADS][2];
    static int turn;
    turn ^= 1;
    part[MYTHREAD][turn] = mine;
    upc_barrier;
    double sum = 0;
    for (int t = 0; t < THREADS; t++)
        sum += part[t][turn];
    return sum;
}

/* Thread 0 says how it went; all return the exit code. */
static inline int nas_report(const char *kernel, char class, double elapsed, double mops, int passed)
{
    if (MYTHREAD == 0) {
        printf("%s class %c, %d threads: %.3f s, %.1f Mop/s\n", kernel, class, THREADS, elapsed,
               mops / elapsed);
        if (passed)
            printf("verification: passed\n");
        else
            fprintf(stderr, "%s: verification failed\n", kernel);
    }
    return !passed;
}

/* Whether a result is the published one. */
static inline int nas_close(const char *what, double value, double published, double within)
{
    const int close = fabs(value - published) <= within * fabs(published);
    if (!close && MYTHREAD == 0)
        fprintf(stderr, "%s is %.13e, published is %.13e\n", what, value, published);
    return close;
}

#endif
