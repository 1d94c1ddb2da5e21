// THREADS in the bounds of shared arrays, dynamic environment.
// static: no
#include <upc.h>
shared int twice[THREADS][THREADS]; // expect-error:
shared int plus[10 * THREADS + 1]; // expect-error:
shared int squared[THREADS * THREADS]; // expect-error:
shared int without[10]; // expect-error:
shared [*] int star[THREADS + 1]; // expect-error:
shared [] int indefinite[THREADS]; // expect-error:
shared [THREADS * 2] int layout[THREADS]; // expect-error:
shared int (*pointer)[THREADS][THREADS]; // expect-error:
typedef shared int type[THREADS][THREADS]; // expect-error:
shared int negative[-2 * THREADS]; // expect-error:
shared int fine[10 * THREADS];
shared [] int fine_too[10];
shared [0] int (*to)[THREADS]; // expect-error:
int main(void)
{
    int n = 3;
    // Only the name THREADS is forbidden there: what a bound is at run time nobody can know.
    shared [0] int (*run_time)[n] = 0;
    return run_time != 0;
}
