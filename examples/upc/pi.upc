/* Pi: throw darts at a square and count those inside the circle.

   What it shows: upc_forall for independent work, and two ways to add up: in an element of one's
   own, and in one variable behind a lock.

   Check: the two sums agree, and the estimate is within five standard deviations of pi. */
#include <upc_relaxed.h>
#include <math.h>
#include <stdio.h>
#include "common.h"

shared long hits[THREADS]; /* hits[t] lives on thread t */
shared long total;         /* one variable, on thread 0 */

int main(int argc, char **argv)
{
    long darts = 4000000;
    const struct size sizes[] = {{"DARTS", &darts, 1, 1000000000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 1);

    /* Called by all threads, which all get the same lock. */
    upc_lock_t *lock = upc_all_lock_alloc();

    const double start = seconds();
    long mine = 0;
    upc_forall (long i = 0; i < darts; i++; i) {
        const uint64_t random = mix(i);
        const double x = (double)(random >> 32) / 4294967296.0;
        const double y = (double)(random & 0xffffffffu) / 4294967296.0;
        mine += x * x + y * y < 1.0;
    }
    hits[MYTHREAD] = mine;
    upc_lock(lock);
    total += mine;
    upc_unlock(lock);
    upc_barrier;
    const double elapsed = seconds() - start;

    if (MYTHREAD == 0) {
        long sum = 0;
        for (int t = 0; t < THREADS; t++)
            sum += hits[t];
        const double pi = acos(-1.0), estimate = 4.0 * sum / darts;
        const double deviation = sqrt(pi * (4.0 - pi) / darts);
        printf("pi: %.6f from %ld darts, %d threads: %.3f s\n", estimate, darts, THREADS, elapsed);
        if (sum != total) {
            fprintf(stderr, "pi: the elements add up to %ld, the locked sum is %ld\n", sum, total);
            upc_global_exit(1);
        }
        if (fabs(estimate - pi) > 5 * deviation) {
            fprintf(stderr, "pi: off by more than five standard deviations (%.6f)\n", deviation);
            upc_global_exit(1);
        }
        printf("verification: passed\n");
    }
    upc_all_lock_free(lock);
    return 0;
}
