// The job's status is the first that is not zero; main's result counts, after all have ended.
// threads: 1 2 4
// expect-exit: 7
// expect: last words
#include <upc.h>
#include <stdio.h>

int main(void)
{
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        printf("last words\n");
        return 7;
    }
    return 0;
}
