/* gather N: sums of private elements named by an index, independent and in a chain; everything in
   the first-level cache. Prints ns per element. */
#include "floor.h"

#define COUNT 1024
static long table[4096];
static int chosen[COUNT];

static NOINLINE long independent(const long *p, const int *idx, long passes)
{
    long s = 0;
    for (long k = 0; k < passes; k++) {
        for (int i = 0; i < COUNT; i++)
            s += p[idx[i]];
        __asm__ volatile("" ::: "memory");
    }
    return s;
}
static NOINLINE long chain(const long *p, long at, long steps)
{
    for (long k = 0; k < steps; k++)
        at = p[at];
    return at;
}

int main(int argc, char **argv)
{
    const int n = (int)argument(argc, argv, 1, 512);
    if (n < 2 || n > 4096)
        return 2;
    /* A single cycle through all elements, in scattered order. */
    for (int i = 0; i < n; i++)
        table[i] = i;
    uint64_t state = 1;
    for (int i = n - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int j = (int)((state >> 33) % (uint64_t)i);
        const long t = table[i];
        table[i] = table[j];
        table[j] = t;
    }
    for (int i = 0; i < COUNT; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        chosen[i] = (int)((state >> 33) % (uint64_t)n);
    }
    start_ranks(1);
    const long passes = 5000, steps = 2000000;
    volatile long consume;
    for (int batch = -1; batch < BATCHES; batch++) {
        double start = now_ns();
        consume = independent(table, chosen, passes);
        const double each = (now_ns() - start) / ((double)passes * COUNT);
        start = now_ns();
        consume = chain(table, 0, steps);
        const double step = (now_ns() - start) / (double)steps;
        if (batch >= 0) {
            report("read", each);
            report("chain", step);
        }
    }
    (void)consume;
    return 0;
}
