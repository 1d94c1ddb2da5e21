// The data movements of upc_collective.h at many sizes, with roots and addresses anywhere and all flags, against what they mean.
#include <upc_collective.h>
#include <string.h>
#include "check.h"

enum { MOST = 70000, SHIFT = 24 };
static unsigned long seed = 7;
static unsigned next(unsigned n) /* the same numbers on all threads */
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(seed >> 40) % n;
}
static upc_flag_t any_flags(void)
{
    static const upc_flag_t in[] = {0, UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC};
    static const upc_flag_t out[] = {0, UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC};
    const upc_flag_t i = in[next(4)];
    return i | out[next(4)];
}
/* Byte i of what thread t holds in a round. */
static unsigned char byte(int t, long i, int round) { return (unsigned char)(t * 31 + i * 7 + (i >> 8) + round * 13); }

static shared char *src, *dst; /* one byte of each is on each thread; where it begins there */
static unsigned char *own, *got;
static size_t room;
static shared int perm[THREADS];

static void fill(long n, int round)
{
    for (long i = 0; i < n; i++)
        own[i] = byte(MYTHREAD, i, round);
    memset(got, 0xa5, room);
}
static void expect_rest(long n) { CHECK(got[n] == 0xa5 && got[n + 1] == 0xa5); }

int main(void)
{
    static const long sizes[] = {1, 2, 3, 7, 8, 16, 100, 1000, 4096, 4097, 20000, MOST};
    room = (size_t)MOST * THREADS + SHIFT + 8;
    shared [] char *shared_of_thread;
    src = (shared char *)upc_all_alloc(THREADS, room);
    dst = (shared char *)upc_all_alloc(THREADS, room);
    own = (unsigned char *)(src + MYTHREAD);
    got = (unsigned char *)(dst + MYTHREAD);
    for (int round = 0; round < 48; round++) {
        const long n = sizes[next(12)];
        const int root = (int)next((unsigned)THREADS), shift = (int)next(SHIFT);
        perm[MYTHREAD] = (MYTHREAD * (THREADS > 1 ? THREADS - 1 : 1) + round) % THREADS;
        /* The side that is on one thread may begin anywhere. */
        shared_of_thread = (shared [] char *)(src + root) + shift;
        fill(n * THREADS + SHIFT, round);
        upc_barrier;
        upc_flag_t flags = any_flags();
        upc_all_broadcast(dst, shared_of_thread, (size_t)n, flags);
        upc_barrier;
        for (long i = 0; i < n; i++)
            CHECK(got[i] == byte(root, i + shift, round));
        expect_rest(n);

        memset(got, 0xa5, room);
        upc_barrier;
        upc_all_scatter(dst, shared_of_thread, (size_t)n, any_flags());
        upc_barrier;
        for (long i = 0; i < n; i++)
            CHECK(got[i] == byte(root, n * MYTHREAD + i + shift, round));
        expect_rest(n);

        memset(got, 0xa5, room);
        upc_barrier;
        upc_all_gather((shared [] char *)(dst + root) + shift, src, (size_t)n, any_flags());
        upc_barrier;
        if (MYTHREAD == root)
            for (int t = 0; t < THREADS; t++)
                for (long i = 0; i < n; i++)
                    CHECK(got[shift + t * n + i] == byte(t, i, round));
        expect_rest(MYTHREAD == root ? shift + THREADS * n : 0);

        memset(got, 0xa5, room);
        upc_barrier;
        upc_all_gather_all(dst, src, (size_t)n, any_flags());
        upc_barrier;
        for (int t = 0; t < THREADS; t++)
            for (long i = 0; i < n; i++)
                CHECK(got[t * n + i] == byte(t, i, round));
        expect_rest(THREADS * n);

        memset(got, 0xa5, room);
        upc_barrier;
        upc_all_exchange(dst, src, (size_t)n, any_flags());
        upc_barrier;
        for (int t = 0; t < THREADS; t++)
            for (long i = 0; i < n; i++)
                CHECK(got[t * n + i] == byte(t, n * MYTHREAD + i, round));
        expect_rest(THREADS * n);

        memset(got, 0xa5, room);
        upc_barrier;
        upc_all_permute(dst, src, perm, (size_t)n, any_flags());
        upc_barrier;
        for (int t = 0; t < THREADS; t++)
            if (perm[t] == MYTHREAD)
                for (long i = 0; i < n; i++)
                    CHECK(got[i] == byte(t, i, round));
        expect_rest(n);
        upc_barrier;
    }
    upc_all_free(src);
    upc_all_free(dst);
    PASS();
}
