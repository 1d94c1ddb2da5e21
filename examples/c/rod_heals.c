/* Rod: heat spreads in a rod, although ranks die: gasnetrun -n 4 --on-death heal ./rod_heals

   What it shows: gasnetx_survive, which runs the work again when a rank has died; segments that are attached in each world;
   copies from which new processes go on.

   Check: the same computation by each rank alone. */
#include <gasnet.h>
#include <gasnet_survive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 240 /* inner cells of the rod, and its ends, which stay as they are */
#define EVERY 20  /* steps between copies */

/* What a process keeps while worlds come and go: the whole rod after some step. A new process has that of the start. */
typedef struct {
    uint64_t step;
    double cell[CELLS + 2];
} rod_t;
static rod_t kept = {0, {100.0}};

/* What a rank shows to others: a copy of what it has kept, and the rod that it works on, before and after a step. */
typedef struct {
    rod_t kept;
    double now[2][CELLS + 2];
} shared_t;

static gasnet_seginfo_t segments[1024];
static shared_t *of(gasnet_node_t rank) { return (shared_t *)segments[rank].addr; }

static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void advance(const double *from, double *to, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

/* All of the work, in one world. Nothing here knows of deaths: a call that cannot end leaves this function. */
static void work(void *argument)
{
    const uint64_t steps = *(const uint64_t *)argument;
    const size_t page = GASNET_PAGESIZE, size = (sizeof(shared_t) + page - 1) / page * page;
    if (gasnet_attach(NULL, 0, size, 0) != GASNET_OK) gasnet_exit(1);
    const gasnet_node_t me = gasnet_mynode(), ranks = gasnet_nodes();
    if (ranks > 1024 || gasnet_getSegmentInfo(segments, (int)ranks) != GASNET_OK) gasnet_exit(1);
    const size_t first = 1 + (size_t)CELLS * me / ranks, end = 1 + (size_t)CELLS * (me + 1) / ranks;
    shared_t *mine = of(me);

    /* All go on from the newest rod that any rank has kept. */
    mine->kept = kept;
    meet();
    for (gasnet_node_t r = 0; r < ranks; r++) {
        rod_t other;
        gasnet_get(&other, r, &of(r)->kept, sizeof other);
        if (other.step > kept.step) kept = other; /* between two calls, so wholly or not at all */
    }
    for (int half = 0; half < 2; half++) memcpy(mine->now[half], kept.cell, sizeof kept.cell);
    meet();

    for (uint64_t step = kept.step; step < steps;) {
        double *from = mine->now[step % 2], *to = mine->now[(step + 1) % 2];
        advance(from, to, first, end);
        step++;
        /* The cells at the ends of this part are what its neighbours need for their next step. */
        const size_t half = step % 2, bytes = sizeof(double);
        if (me > 0 && end > first) gasnet_put(me - 1, &of(me - 1)->now[half][first], &to[first], bytes);
        if (me + 1 < ranks && end > first) gasnet_put(me + 1, &of(me + 1)->now[half][end - 1], &to[end - 1], bytes);
        meet();
        if (step % EVERY == 0 || step == steps) {
            rod_t all = kept;
            all.step = step;
            for (gasnet_node_t r = 0; r < ranks; r++) {
                const size_t at = 1 + (size_t)CELLS * r / ranks, next = 1 + (size_t)CELLS * (r + 1) / ranks;
                gasnet_get(&all.cell[at], r, &of(r)->now[half][at], (next - at) * sizeof(double));
            }
            kept = all;
            meet();
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t steps;
    static double alone[2][CELLS + 2];
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
    gasnetx_survive(work, &steps);

    alone[0][0] = alone[1][0] = 100.0;
    for (uint64_t step = 0; step < steps; step++) advance(alone[step % 2], alone[(step + 1) % 2], 1, CELLS + 1);
    if (memcmp(alone[steps % 2], kept.cell, sizeof kept.cell) != 0) {
        printf("rank %u: verification: FAILED\n", gasnet_mynode());
        gasnet_exit(1);
    }
    if (gasnet_mynode() == 0) printf("%d cells, %llu steps, verification: passed\n", CELLS, (unsigned long long)steps);
    gasnet_exit(0);
    return 0;
}
