/* NAS IS: ranks of whole numbers, ten times over, by a bucket sort.

   What it shows: an exchange between all pairs of threads with one upc_memput each, straight to its
   place; heaps allocated per thread; counting and prefix sums over threads.

   Check: in each round five keys have the published ranks; in the end the keys are in order and none is
   missing. */
#include <upc_relaxed.h>
#include "nas.h"

#define SEED 314159265u
#define ROUNDS 10
#define LOG_BUCKETS 10
#define BUCKETS (1 << LOG_BUCKETS)
#define PROBES 5

static const char classes[] = "SWAB";
static const struct {
    int log_keys, log_range;
    int probe[PROBES], rank[PROBES];
    /* In round r the rank of probe i is rank + (r + shift) for i in `rising`, else rank - (r + fall). */
    int shift, fall;
    unsigned rising;
} published[] = {
    {16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 0, 0, 0x07},
    {20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, -2, 0, 0x03},
    {23, 19, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}, -1, -1, 0x07},
    {25, 21, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99}, 0, 0, 0x16},
};

/* What a thread tells the others: keys per bucket of its own. */
static shared [BUCKETS] int tally[THREADS][BUCKETS];
/* Where a thread receives its keys. */
static shared [] int *shared inbox[THREADS];
static shared [] int probed[PROBES];

static int *keys, *outbox, *sorted, *below;
static long mine, capacity;
static int shift, range;
/* The keys of this thread's buckets: [low, high), how many are here, how many lie below. */
static int low, high;
static long here, before;

/* One ranking: afterwards below[k - low] is how many of the keys here are less than k. */
static void rank_keys(void)
{
    /* Order the own keys by bucket. */
    static int first[BUCKETS + 1], next[BUCKETS];
    int *count = (int *)tally[MYTHREAD];
    const int *key = keys, down = shift; /* for the compiler: nothing changes these */
    memset(count, 0, BUCKETS * sizeof *count);
    for (long i = 0; i < mine; i++)
        count[key[i] >> down]++;
    for (int b = 0; b < BUCKETS; b++) {
        next[b] = first[b];
        first[b + 1] = first[b] + count[b];
    }
    for (long i = 0; i < mine; i++)
        outbox[next[key[i] >> down]++] = key[i];
    upc_barrier;

    /* Everybody's tallies decide who gets which buckets: about the same number of keys each. */
    static int all[BUCKETS], lower[BUCKETS]; /* keys of all threads; of the threads before this one */
    memset(all, 0, sizeof all);
    for (int t = 0; t < THREADS; t++) {
        static int theirs[BUCKETS];
        if (t == MYTHREAD)
            memcpy(lower, all, sizeof lower);
        upc_memget(theirs, tally[t], sizeof theirs);
        for (int b = 0; b < BUCKETS; b++)
            all[b] += theirs[b];
    }
    long keys_in_all = 0;
    for (int b = 0; b < BUCKETS; b++)
        keys_in_all += all[b];
    long so_far = 0;
    for (int b = 0, t = 0; t < THREADS; t++) {
        const long goal = keys_in_all * (t + 1L) / THREADS, start = so_far;
        const int from = b;
        long at = 0; /* where in t's inbox this thread's first key goes: bucket by bucket, thread by thread */
        while (b < BUCKETS && (so_far < goal || t == THREADS - 1))
            so_far += all[b++];
        if (so_far - start > capacity) {
            fprintf(stderr, "nas_is: more keys for thread %d than expected\n", t);
            upc_global_exit(1);
        }
        /* The inbox holds the threads' pieces one after another. */
        for (int k = from; k < b; k++)
            at += lower[k];
        const long number = first[b] - first[from];
        if (number > 0)
            upc_memput(inbox[t] + at, outbox + first[from], number * sizeof(int));
        if (t == MYTHREAD) {
            low = from << shift;
            high = b << shift;
            here = so_far - start;
            before = start;
        }
    }
    upc_barrier;

    const int *got = (int *)inbox[MYTHREAD];
    const int least = low, keys_here = high - low;
    int *less = below;
    memset(less, 0, (keys_here + 1) * sizeof *less);
    for (long i = 0, n = here; i < n; i++)
        less[got[i] - least + 1]++;
    for (int k = 0; k < keys_here; k++)
        less[k + 1] += less[k];
}

int main(int argc, char **argv)
{
    const int class = nas_class(argc, argv, "nas_is", classes);
    const long total = 1L << published[class].log_keys;
    range = 1 << published[class].log_range;
    shift = published[class].log_range - LOG_BUCKETS;

    const long from = total * MYTHREAD / THREADS, to = total * (MYTHREAD + 1L) / THREADS;
    mine = to - from;
    /* A bucket goes to one thread as a whole. The largest holds less than 1/256 of the keys: the density
       of the mean of four uniform numbers is at most 8/3, that is 1/384 a bucket. */
    capacity = total / THREADS + total / 256 + 1;
    keys = malloc((mine + 1) * sizeof *keys);
    outbox = malloc((mine + 1) * sizeof *outbox);
    below = malloc((range + 1L) * sizeof *below);
    inbox[MYTHREAD] = (shared [] int *)upc_alloc(capacity * sizeof(int));
    uint64_t x = nas_next(SEED, nas_power(NAS_A, 4 * (uint64_t)from));
    for (long i = 0; i < mine; i++) {
        double sum = nas_random(&x);
        for (int k = 0; k < 3; k++)
            sum += nas_random(&x);
        keys[i] = (int)(range / 4 * sum);
    }
    rank_keys(); /* touch everything */
    upc_barrier;

    int passed = 1;
    double elapsed = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        const double start = seconds();
        if (MYTHREAD == 0) {
            keys[round] = round;
            keys[round + ROUNDS] = range - round;
        }
        for (int i = 0; i < PROBES; i++)
            if (published[class].probe[i] >= from && published[class].probe[i] < to)
                probed[i] = keys[published[class].probe[i] - from];
        rank_keys();
        for (int i = 0; i < PROBES; i++) {
            const int key = probed[i];
            if (key < low || key >= high)
                continue;
            const long rank = before + below[key - low];
            const int rises = published[class].rising >> i & 1;
            const long want = published[class].rank[i] +
                              (rises ? round + published[class].shift : -(round + published[class].fall));
            if (rank != want) {
                fprintf(stderr, "nas_is: round %d: rank of key %d is %ld, published is %ld\n", round, key,
                        rank, want);
                passed = 0;
            }
        }
        elapsed += seconds() - start;
        upc_barrier; /* the probes and inboxes are used again */
    }

    /* Put the keys in their places and look. */
    const int *got = (int *)inbox[MYTHREAD];
    sorted = malloc((here + 1) * sizeof *sorted);
    for (long i = 0; i < here; i++)
        sorted[below[got[i] - low]++] = got[i];
    for (long i = 0; i < here; i++)
        passed &= sorted[i] >= low && sorted[i] < high && (i == 0 || sorted[i - 1] <= sorted[i]);
    passed &= nas_sum((double)here) == (double)total && nas_sum(passed) == THREADS;
    free(keys);
    free(outbox);
    free(below);
    free(sorted);
    upc_free(inbox[MYTHREAD]);
    return nas_report("IS", classes[class], nas_sum(elapsed) / THREADS, (double)(ROUNDS * total) * 1e-6,
                      passed);
}
