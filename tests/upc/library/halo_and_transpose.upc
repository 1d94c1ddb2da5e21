// Transfers that go on after the call, as programs use them: a halo exchange with two buffers and a transpose in blocks.
#include "../check.h"
#include <upc_relaxed.h>
#include <upc_nb.h>
#include <stdlib.h>

#define N 4096
#define B 64
#define STEPS 20

shared [] long *shared halo[THREADS];
shared [] long *shared blocks[THREADS];

static long sent(int step, int thread, int i) { return step * 1000003L + thread * 7919L + i; }

static void halos(void)
{
    const int left = (MYTHREAD + THREADS - 1) % THREADS, right = (MYTHREAD + 1) % THREADS;
    long *mine = malloc(N * sizeof(long)), *back = malloc(N * sizeof(long));
    for (int step = 0; step < STEPS; step++) {
        // What comes from the left, then what comes from the right.
        const long at = step % 2 * 2 * N;
        for (int i = 0; i < N; i++)
            mine[i] = sent(step, MYTHREAD, i);
        upc_handle_t h = upc_memput_nb(halo[right] + at, mine, N * sizeof(long));
        upc_memput_nbi(halo[left] + at + N, mine, N * sizeof(long));
        upc_sync(h);
        upc_synci();
        upc_barrier;
        const long *in = (long *)(halo[MYTHREAD] + at);
        for (int i = 0; i < N; i++) {
            CHECK_EQ(in[i], sent(step, left, i));
            CHECK_EQ(in[N + i], sent(step, right, i));
        }
        h = upc_memget_nb(back, halo[right] + at, N * sizeof(long));
        while (!upc_sync_attempt(h))
            ;
        for (int i = 0; i < N; i++)
            CHECK_EQ(back[i], mine[i]);
    }
    free(mine);
    free(back);
}

static void transpose(void)
{
    long *from = malloc((size_t)THREADS * B * B * sizeof(long));
    upc_handle_t *handles = malloc(THREADS * sizeof(upc_handle_t));
    for (int t = 0; t < THREADS; t++) {
        const int to = (MYTHREAD + t) % THREADS;
        for (int i = 0; i < B * B; i++)
            from[to * B * B + i] = (MYTHREAD * 100L + to) * 10000 + i;
        handles[t] = upc_memput_nb(blocks[to] + MYTHREAD * B * B, from + to * B * B, B * B * sizeof(long));
    }
    for (int t = 0; t < THREADS; t++)
        upc_sync(handles[t]);
    upc_barrier;
    const long *in = (long *)blocks[MYTHREAD];
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < B * B; i++)
            CHECK_EQ(in[t * B * B + i], (t * 100L + MYTHREAD) * 10000 + i);
    free(from);
    free(handles);
}

int main(void)
{
    halo[MYTHREAD] = upc_alloc(4 * N * sizeof(long));
    blocks[MYTHREAD] = upc_alloc((size_t)THREADS * B * B * sizeof(long));
    upc_barrier;
    halos();
    transpose();
    PASS();
    return 0;
}
