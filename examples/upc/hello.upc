/* Hello: every thread greets, then a value goes once round the ring of threads for each round.

   What it shows: MYTHREAD and THREADS, a shared array with one element on each thread, a remote
   write, a barrier. */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

/* The default layout deals elements out one by one: slot[t] lives on thread t. */
shared long slot[THREADS];

int main(int argc, char **argv)
{
    long rounds = 3;
    const struct size sizes[] = {{"ROUNDS", &rounds, 1, 1000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    printf("hello from thread %d of %d\n", MYTHREAD, THREADS);

    const int right = (MYTHREAD + 1) % THREADS;
    slot[MYTHREAD] = MYTHREAD;
    for (long r = 0; r < rounds; r++) {
        upc_barrier; /* all slots are written */
        const long mine = slot[MYTHREAD];
        upc_barrier; /* all slots are read */
        slot[right] = mine + 1; /* an assignment is all a remote write takes */
    }
    upc_barrier;

    /* After `rounds` steps to the right, the value here started `rounds` threads to the left and
       grew by one at each step. */
    const long start = ((MYTHREAD - rounds) % THREADS + THREADS) % THREADS;
    if (slot[MYTHREAD] != start + rounds) {
        fprintf(stderr, "hello: thread %d: found %ld, expected %ld\n", MYTHREAD, slot[MYTHREAD],
                start + rounds);
        upc_global_exit(1);
    }
    upc_barrier;
    if (MYTHREAD == 0)
        printf("verification: passed\n");
    return 0;
}
