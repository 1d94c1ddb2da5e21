// upc_collective.h: every data movement and a choice of reductions, on several layouts.
// static: yes
#include "../check.h"
#include <upc_collective.h>

#define N 6
shared [N] int src[N * THREADS], dst[N * THREADS];
shared [] int *flat;
shared int perm[THREADS];
shared [3] double d[10 * THREADS], prefix[10 * THREADS];
shared long cyclic[20 * THREADS];
shared double dsum;
shared long lmax;
shared int i_first;

static int last(int a, int b) { return b; }
static long bigger(long a, long b) { return a > b ? a : b; }

int main(void)
{
    flat = (shared [] int *)upc_all_alloc(1, N * THREADS * sizeof(int));
    shared void *w = upc_all_alloc(THREADS, N * THREADS * sizeof(int)), *w2 = upc_all_alloc(THREADS, N * THREADS * sizeof(int));
    int *mine = (int *)(shared [] int *)((shared char *)w + MYTHREAD), *mine2 = (int *)(shared [] int *)((shared char *)w2 + MYTHREAD);
    for (int i = 0; i < N; i++)
        src[MYTHREAD * N + i] = 100 * MYTHREAD + i;
    if (MYTHREAD == 0)
        for (int i = 0; i < N * THREADS; i++)
            flat[i] = 1000 + i;
    perm[MYTHREAD] = THREADS - 1 - MYTHREAD;

    upc_all_broadcast(dst, flat, N * sizeof(int), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[MYTHREAD * N + i], 1000 + i);
    upc_all_broadcast(dst, &src[(THREADS - 1) * N], N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[MYTHREAD * N + i], 100 * (THREADS - 1) + i);
    upc_all_scatter(dst, flat, N * sizeof(int), UPC_IN_MYSYNC | UPC_OUT_MYSYNC);
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[MYTHREAD * N + i], 1000 + N * MYTHREAD + i);
    upc_all_gather(flat, src, N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int i = 0; i < N * THREADS; i++)
        CHECK_EQ(flat[i], 100 * (i / N) + i % N);
    upc_all_gather_all(w, src, N * sizeof(int), 0);
    for (int i = 0; i < N * THREADS; i++)
        CHECK_EQ(mine[i], 100 * (i / N) + i % N);
    upc_all_exchange(w2, w, N * sizeof(int), 0);
    for (int i = 0; i < N * THREADS; i++)
        CHECK_EQ(mine2[i], 100 * MYTHREAD + i % N);
    upc_barrier;
    upc_all_permute(dst, src, perm, N * sizeof(int), UPC_IN_NOSYNC | UPC_OUT_NOSYNC);
    upc_barrier;
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[MYTHREAD * N + i], 100 * (THREADS - 1 - MYTHREAD) + i);

    upc_forall (int i = 0; i < 10 * THREADS; i++; &d[i])
        d[i] = i;
    upc_forall (int i = 0; i < 20 * THREADS; i++; &cyclic[i])
        cyclic[i] = (i * 7) % 20;
    upc_all_reduceD(&dsum, d, UPC_ADD, 10 * THREADS, 3, NULL, 0);
    CHECK(dsum == 10.0 * THREADS * (10 * THREADS - 1) / 2);
    upc_all_reduceL(&lmax, cyclic, UPC_FUNC, 20 * THREADS, 1, bigger, 0);
    CHECK_EQ(lmax, 19);
    upc_all_reduceL(&lmax, &cyclic[1], UPC_MIN, 3, 1, NULL, 0);
    CHECK_EQ(lmax, 1);
    upc_all_reduceI(&i_first, src, UPC_NONCOMM_FUNC, N * THREADS, N, last, 0);
    CHECK_EQ(i_first, 100 * (THREADS - 1) + N - 1);
    upc_all_prefix_reduceD(prefix, d, UPC_ADD, 10 * THREADS, 3, NULL, 0);
    for (int i = 0; i < 10 * THREADS; i++)
        CHECK(prefix[i] == i * (i + 1) / 2);
    PASS();
    return 0;
}
