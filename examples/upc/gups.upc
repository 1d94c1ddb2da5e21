/* GUPS: giga-updates per second. Threads xor random words of one big table, most of them remote.

   What it shows: fine-grained access to a cyclic shared array, and the affinity of an element.

   Updates of two threads to one word at the same moment can lose one of the two: `^=` on shared
   memory is a read and a write, not an atomic operation. The benchmark accepts that, up to one
   wrong word in a hundred.
   Check: the owner of each word applies the same updates once more, without races; xor undoes
   itself, so the table must be as it was. */
#include <upc_relaxed.h>
#include <stdio.h>
#include "common.h"

shared long wrong[THREADS];

/* Update number u: the low bits choose the word, the whole is the value. */
static uint64_t update(long u) { return mix((uint64_t)u); }

int main(int argc, char **argv)
{
    long bits = 18, updates = 1000000;
    const struct size sizes[] = {{"TABLE_BITS", &bits, 10, 32},
                                 {"UPDATES", &updates, 1, 2000000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 2);

    const uint64_t words = (uint64_t)1 << bits;
    shared uint64_t *table = (shared uint64_t *)upc_all_alloc(words, sizeof(uint64_t));
    upc_forall (uint64_t i = 0; i < words; i++; &table[i])
        table[i] = i;
    upc_barrier;

    const double start = seconds();
    upc_forall (long u = 0; u < updates; u++; u) {
        const uint64_t value = update(u);
        table[value & (words - 1)] ^= value;
    }
    upc_barrier;
    const double elapsed = seconds() - start;

    for (long u = 0; u < updates; u++) {
        const uint64_t value = update(u);
        shared uint64_t *word = &table[value & (words - 1)];
        if (upc_threadof(word) == (size_t)MYTHREAD)
            *(uint64_t *)word ^= value;
    }
    /* One's own words, through a plain pointer: word MYTHREAD + k * THREADS is local word k. */
    long bad = 0;
    if ((uint64_t)MYTHREAD < words) {
        const uint64_t *mine = (const uint64_t *)&table[MYTHREAD];
        for (uint64_t i = MYTHREAD, k = 0; i < words; i += THREADS, k++)
            bad += mine[k] != i;
    }
    wrong[MYTHREAD] = bad;
    upc_barrier;

    if (MYTHREAD == 0) {
        long total = 0;
        for (int t = 0; t < THREADS; t++)
            total += wrong[t];
        printf("gups: 2^%ld words, %ld updates, %d threads: %.3f s, %.4f Gup/s, %ld words wrong\n",
               bits, updates, THREADS, elapsed, 1e-9 * updates / elapsed, total);
        if (total > (long)(words / 100)) {
            fprintf(stderr, "gups: %ld of %llu words are wrong\n", total,
                    (unsigned long long)words);
            upc_global_exit(1);
        }
        printf("verification: passed\n");
    }
    upc_all_free(table);
    return 0;
}
