/* In a shared object: shared variables of the program, and the runtime that the program has. */
#include <upc.h>

extern shared int in_program[THREADS];
int library_sum(int v)
{
    in_program[MYTHREAD] = v;
    upc_barrier;
    shared int *copy = upc_all_alloc(THREADS, sizeof(int));
    copy[MYTHREAD] = in_program[(MYTHREAD + 1) % THREADS];
    upc_barrier;
    int sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += copy[i];
    upc_barrier;
    upc_all_free(copy);
    return sum;
}
