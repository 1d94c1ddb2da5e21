// Shared variables in clauses of OpenMP.
// flags: -fopenmp
#include <upc.h>

shared int a[16 * THREADS];
shared int n;

int main(void)
{
    int t = 0;
#pragma omp parallel for firstprivate(n) // expect-error: `n` in `firstprivate` is shared
    for (int i = 0; i < 16; i++)
        t += a[i];
#pragma omp parallel num_threads(n) // expect-error: `n` in `num_threads` is shared
    t += a[0];
#pragma omp parallel for reduction(+ : n) // expect-error: `n` in `reduction` is shared
    for (int i = 0; i < 16; i++)
        n += a[i];
    return t;
}
