/* Isort: sort whole numbers that are spread over all threads.

   Each thread gets a range of the keys. A thread sorts its own keys by destination into an outbox;
   after a barrier, everybody fetches what the others have for it and counts the keys.

   What it shows: bulk data exchange between all pairs of threads with upc_memget, directories of
   blocks allocated by upc_alloc, a sum over all threads by hand.

   Check: keys ascend on each thread and from thread to thread, and as a set they are what was
   generated (their number and the sum of their hashes). */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

/* outbox[t]: t's keys ordered by destination; begin[t][d] .. begin[t][d + 1] are those for d. */
shared [] int *shared outbox[THREADS];
shared [] long *shared begin[THREADS];

/* What each thread tells for the check. */
typedef struct {
    long count_before, count_after;
    uint64_t hash_before, hash_after;
    int least, greatest;
} facts;
shared facts fact[THREADS];

int main(int argc, char **argv)
{
    long total = 1000000, limit = 1 << 20;
    const struct size sizes[] = {{"KEYS", &total, 1, 1000000000},
                                 {"MAX_KEY", &limit, 1, 1000000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 2);

    const long low = (long)MYTHREAD * total / THREADS;
    const long count = (MYTHREAD + 1L) * total / THREADS - low;
    const long width = (limit + THREADS - 1) / THREADS; /* keys per range */
    int *keys = malloc((count + 1) * sizeof *keys);
    uint64_t hash = 0;
    for (long i = 0; i < count; i++) {
        keys[i] = (int)(mix(low + i) % (uint64_t)limit);
        hash += mix(keys[i]);
    }
    outbox[MYTHREAD] = (shared [] int *)upc_alloc((count + 1) * sizeof(int));
    begin[MYTHREAD] = (shared [] long *)upc_alloc((THREADS + 1) * sizeof(long));
    upc_barrier;

    const double start = seconds();

    /* Order the keys by destination: count, sum up, place. */
    int *out = (int *)outbox[MYTHREAD];
    long *first = (long *)begin[MYTHREAD];
    long *next = calloc(THREADS + 1, sizeof *next);
    for (long i = 0; i < count; i++)
        next[keys[i] / width + 1]++;
    for (int d = 0; d < THREADS; d++)
        next[d + 1] += next[d];
    memcpy(first, next, (THREADS + 1) * sizeof *first);
    for (long i = 0; i < count; i++)
        out[next[keys[i] / width]++] = keys[i];
    free(next);
    free(keys);
    upc_barrier;

    /* Fetch from everybody, each thread starting with another one so that they spread out. */
    long received = 0;
    for (int t = 0; t < THREADS; t++)
        received += begin[t][MYTHREAD + 1] - begin[t][MYTHREAD];
    int *sorted = malloc((received + 1) * sizeof *sorted);
    long at = 0;
    for (int i = 0; i < THREADS; i++) {
        const int t = (MYTHREAD + i) % THREADS;
        const long from = begin[t][MYTHREAD], number = begin[t][MYTHREAD + 1] - from;
        upc_memget(sorted + at, outbox[t] + from, number * sizeof(int));
        at += number;
    }

    /* Counting sort of a small range of keys. */
    long *occurs = calloc(width + 1, sizeof *occurs);
    for (long i = 0; i < received; i++)
        occurs[sorted[i] - MYTHREAD * width]++;
    at = 0;
    for (long k = 0; k < width; k++)
        for (long n = occurs[k]; n > 0; n--)
            sorted[at++] = (int)(MYTHREAD * width + k);
    free(occurs);
    upc_barrier;
    const double elapsed = seconds() - start;

    facts mine = {count, received, hash, 0, 0, 0};
    int ascending = 1;
    for (long i = 0; i < received; i++) {
        mine.hash_after += mix(sorted[i]);
        if (i > 0 && sorted[i - 1] > sorted[i])
            ascending = 0;
    }
    if (received > 0) {
        mine.least = sorted[0];
        mine.greatest = sorted[received - 1];
    }
    if (!ascending) {
        fprintf(stderr, "isort: thread %d: keys are out of order\n", MYTHREAD);
        upc_global_exit(1);
    }
    fact[MYTHREAD] = mine;
    upc_barrier;

    if (MYTHREAD == 0) {
        long before = 0, after = 0;
        uint64_t hash_before = 0, hash_after = 0;
        int last = -1;
        for (int t = 0; t < THREADS; t++) {
            const facts f = fact[t];
            before += f.count_before;
            after += f.count_after;
            hash_before += f.hash_before;
            hash_after += f.hash_after;
            if (f.count_after > 0 && f.least < last) {
                fprintf(stderr, "isort: thread %d begins with %d, after %d\n", t, f.least, last);
                upc_global_exit(1);
            }
            if (f.count_after > 0)
                last = f.greatest;
        }
        if (before != total || after != total || hash_before != hash_after) {
            fprintf(stderr, "isort: %ld keys went in, %ld came out%s\n", before, after,
                    hash_before == hash_after ? "" : ", and they are not the same");
            upc_global_exit(1);
        }
        printf("isort: %ld keys below %ld, %d threads: %.3f s\n", total, limit, THREADS, elapsed);
        printf("verification: passed\n");
    }
    free(sorted);
    upc_barrier;
    upc_free(outbox[MYTHREAD]);
    upc_free(begin[MYTHREAD]);
    return 0;
}
