// Without -fopenmp its pragmas mean nothing.
// threads: 1 2
#include <upc_relaxed.h>
#include "check.h"

shared int a[16 * THREADS];

int main(void)
{
    int t = 0;
    upc_forall (int i = 0; i < 16 * THREADS; i++; &a[i])
        a[i] = i;
    upc_barrier;
#pragma omp parallel for reduction(+ : t) firstprivate(a)
    for (int i = 0; i < 16; i++)
        t += a[i];
    if (t)
#pragma omp critical
        t += a[1] + a[2];
#pragma omp parallel
    t += a[0];
    CHECK_EQ(t, 120 + 3);
    PASS();
}
