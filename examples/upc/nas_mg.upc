/* NAS MG: V-cycles of a multigrid method for Poisson's equation on a periodic cube.

   What it shows: slabs of a grid on each of several levels, the borders fetched from whoever has them, private
   pointers to one's own slabs, one barrier between computing and fetching.

   Check: the residual's norm after the last cycle is the published one. */
#include <upc_relaxed.h>
#include "nas.h"

#define SEED 314159265u
#define LEVELS 10
#define CHARGES 10 /* of each sign */

static const char classes[] = "SWAB";
static const struct {
    int log_n, cycles;
    double smoother[3], norm;
} published[] = {
    {5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-4},
    {7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-5},
    {8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-5},
    {8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-5},
};

/* Level k has 2^k points in each direction. Its planes are dealt out so that a coarse plane lives where the
   fine plane at the same place does: the coarse plane j lies on the fine plane 2 j + 1. */
static int top;
static int first_plane(int level, int thread)
{
    return (int)(((long)thread << top) / THREADS) >> (top - level);
}
static int points(int level) { return 1 << level; }
static int width(int level) { return points(level) + 2; } /* with a border on both sides */
static long plane_size(int level) { return (long)width(level) * width(level); }

/* The two functions that exist on every level, the solution's correction and the residual, and where every
   thread keeps them: its own planes, between one border plane on each side. */
enum { U, R, KINDS };
typedef shared [] double *slab;
static shared [(LEVELS + 1) * KINDS] slab slabs[THREADS][KINDS][LEVELS + 1];
static double *mine[KINDS][LEVELS + 1];
static double smoother[3];

static inline int planes(int level)
{
    return first_plane(level, MYTHREAD + 1) - first_plane(level, MYTHREAD);
}

/* Make a grid's borders agree with the other side of the cube. Own planes by copying, the border planes from
   the threads that have them; the barrier also says that all have computed theirs. */
static void close_borders(int kind, int level)
{
    const int w = width(level), count = planes(level), n = points(level);
    const long size = plane_size(level);
    double *grid = mine[kind][level];
    for (int p = 1; p <= count; p++) {
        double *plane = grid + p * size;
        for (int y = 1; y <= n; y++) {
            double *row = plane + (long)y * w;
            row[0] = row[n];
            row[n + 1] = row[1];
        }
        memcpy(plane, plane + (long)n * w, w * sizeof *plane);
        memcpy(plane + (n + 1L) * w, plane + w, w * sizeof *plane);
    }
    upc_barrier;
    for (int side = 0; side < 2; side++) {
        const int low = first_plane(level, MYTHREAD);
        const int wanted = ((side ? low + count : low - 1) + n) % n;
        int owner = 0;
        while (first_plane(level, owner + 1) <= wanted)
            owner++;
        const long at = (wanted - first_plane(level, owner) + 1) * size;
        upc_memget(grid + (side ? count + 1 : 0) * size, slabs[owner][kind][level] + at,
                   size * sizeof(double));
    }
}

/* r = v - A u, where v may be r. */
static void residual(double *r, const double *u, const double *v, int level)
{
    static const double a0 = -8.0 / 3, a2 = 1.0 / 6, a3 = 1.0 / 12;
    const int w = width(level), n = points(level), count = planes(level);
    const long size = plane_size(level);
    double near[w], far[w], less[w];
    for (int p = 1; p <= count; p++)
        for (int y = 1; y <= n; y++) {
            const long at = p * size + (long)y * w;
            const double *c = u + at, *up = c - w, *down = c + w, *under = c - size, *over = c + size;
            for (int x = 0; x < w; x++) {
                near[x] = up[x] + down[x] + under[x] + over[x];
                far[x] = under[x - w] + under[x + w] + over[x - w] + over[x + w];
            }
            for (int x = 1; x <= n; x++)
                less[x] = a0 * c[x] + a2 * (far[x] + near[x - 1] + near[x + 1]) +
                          a3 * (far[x - 1] + far[x + 1]);
            double *restrict to = r + at;
            if (v == r) {
                for (int x = 1; x <= n; x++)
                    to[x] -= less[x];
            } else {
                for (int x = 1; x <= n; x++)
                    to[x] = v[at + x] - less[x];
            }
        }
}

/* u += S r */
static void smooth(double *u, const double *r, int level)
{
    const int w = width(level), n = points(level), count = planes(level);
    const long size = plane_size(level);
    const double c0 = smoother[0], c1 = smoother[1], c2 = smoother[2];
    double near[w], far[w];
    for (int p = 1; p <= count; p++)
        for (int y = 1; y <= n; y++) {
            const long at = p * size + (long)y * w;
            const double *c = r + at, *up = c - w, *down = c + w, *under = c - size, *over = c + size;
            for (int x = 0; x < w; x++) {
                near[x] = up[x] + down[x] + under[x] + over[x];
                far[x] = under[x - w] + under[x + w] + over[x - w] + over[x + w];
            }
            double *restrict to = u + at;
            for (int x = 1; x <= n; x++)
                to[x] += c0 * c[x] + c1 * (c[x - 1] + c[x + 1] + near[x]) +
                         c2 * (far[x] + near[x - 1] + near[x + 1]);
        }
}

/* The own planes of the next coarser level: a weighted mean of the 27 fine points around each. */
static void restrict_to(double *coarse, const double *fine, int level)
{
    const int wc = width(level), n = points(level), wf = width(level + 1);
    const long size_c = plane_size(level), size_f = plane_size(level + 1);
    const int low = first_plane(level, MYTHREAD), low_f = first_plane(level + 1, MYTHREAD);
    double near[wf], far[wf];
    for (int p = 1; p <= planes(level); p++)
        for (int y = 1; y <= n; y++) {
            /* Point i of the coarse level, counted from 1, is point 2 i of the fine one. */
            const double *c = fine + (2 * (low + p - 1) + 1 - low_f + 1) * size_f + 2L * y * wf;
            const double *up = c - wf, *down = c + wf, *under = c - size_f, *over = c + size_f;
            for (int x = 1; x < wf; x++) {
                near[x] = up[x] + down[x] + under[x] + over[x];
                far[x] = under[x - wf] + under[x + wf] + over[x - wf] + over[x + wf];
            }
            double *restrict to = coarse + p * size_c + (long)y * wc;
            for (int x = 1; x <= n; x++) {
                const int i = 2 * x;
                to[x] = 0.5 * c[i] + 0.25 * (c[i - 1] + c[i + 1] + near[i]) +
                        0.125 * (near[i - 1] + near[i + 1] + far[i]) + 0.0625 * (far[i - 1] + far[i + 1]);
            }
        }
}

/* fine += the coarse function, linearly between its points; borders included. */
static void prolong(double *fine, const double *coarse, int level)
{
    const int wc = width(level), wf = width(level + 1);
    const long size_c = plane_size(level), size_f = plane_size(level + 1);
    const int low = first_plane(level, MYTHREAD), low_f = first_plane(level + 1, MYTHREAD);
    double mean[wc];
    for (int p = 0; p <= planes(level + 1) + 1; p++) {
        const int z = low_f + p; /* even: on coarse plane z / 2; odd: between that one and the next */
        const double *plane = coarse + (z / 2 - low) * size_c;
        const long next_plane = z % 2 * size_c;
        for (int y = 0; y < wf; y++) {
            const double *c = plane + (long)(y / 2) * wc, *d = c + y % 2 * wc;
            for (int x = 0; x < wc; x++)
                mean[x] = 0.25 * (c[x] + d[x] + c[x + next_plane] + d[x + next_plane]);
            double *restrict to = fine + p * size_f + (long)y * wf;
            for (int x = 0; x < wc - 1; x++) {
                to[2 * x] += mean[x];
                to[2 * x + 1] += 0.5 * (mean[x] + mean[x + 1]);
            }
        }
    }
}

static long slab_size(int level) { return (planes(level) + 2) * plane_size(level); }

static void relax(int level, const double *v)
{
    residual(mine[R][level], mine[U][level], v, level);
    close_borders(R, level);
    smooth(mine[U][level], mine[R][level], level);
    close_borders(U, level);
}

/* One V-cycle from the finest level's residual, then that of the new solution. */
static void cycle(const double *v)
{
    for (int level = top - 1; level >= 1; level--) {
        restrict_to(mine[R][level], mine[R][level + 1], level);
        close_borders(R, level);
    }
    memset(mine[U][1], 0, slab_size(1) * sizeof(double));
    smooth(mine[U][1], mine[R][1], 1);
    close_borders(U, 1);
    for (int level = 2; level <= top; level++) {
        if (level < top)
            memset(mine[U][level], 0, slab_size(level) * sizeof(double));
        prolong(mine[U][level], mine[U][level - 1], level - 1);
        relax(level, level < top ? mine[R][level] : v);
    }
    residual(mine[R][top], mine[U][top], v, top);
    close_borders(R, top);
}

/* A place and its random number; the candidates for the charges of each thread, by sign. */
struct candidate {
    double value;
    long at;
};
static shared [2 * CHARGES] struct candidate candidates[THREADS][2][CHARGES];

/* Keeps the best CHARGES candidates, the best one first. */
static void consider(struct candidate *best, int sign, struct candidate c)
{
    int k = CHARGES;
    while (k > 0 && (best[k - 1].at < 0 || (sign ? c.value > best[k - 1].value : c.value < best[k - 1].value)))
        k--;
    if (k == CHARGES)
        return;
    memmove(&best[k + 1], &best[k], (CHARGES - 1 - k) * sizeof *best);
    best[k] = c;
}

/* v = 1 where the CHARGES largest of n^3 random numbers are, -1 where the smallest are. */
static void place_charges(double *v)
{
    const int n = points(top), low = first_plane(top, MYTHREAD);
    const long area = (long)n * n, from = low * area, to = from + planes(top) * area;
    struct candidate best[2][CHARGES];
    for (int k = 0; k < 2 * CHARGES; k++)
        best[k / CHARGES][k % CHARGES].at = -1;
    uint64_t x = nas_next(SEED, nas_power(NAS_A, (uint64_t)from));
    for (long at = from; at < to; at++) {
        const struct candidate c = {nas_random(&x), at};
        consider(best[0], 0, c);
        consider(best[1], 1, c);
    }
    upc_memput(candidates[MYTHREAD], best, sizeof best);
    upc_barrier;
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; t != MYTHREAD && k < 2 * CHARGES; k++) {
            const struct candidate c = candidates[t][k / CHARGES][k % CHARGES];
            if (c.at >= 0)
                consider(best[k / CHARGES], k / CHARGES, c);
        }
    memset(v, 0, slab_size(top) * sizeof *v);
    for (int k = 0; k < 2 * CHARGES; k++) {
        const long at = best[k / CHARGES][k % CHARGES].at;
        if (at >= from && at < to)
            v[(at / area - low + 1) * plane_size(top) + (at / n % n + 1) * width(top) + at % n + 1] =
                k < CHARGES ? -1 : 1;
    }
}

/* The root of the mean square of the finest residual. */
static double norm(void)
{
    const int n = points(top);
    double sum = 0;
    for (int p = 1; p <= planes(top); p++)
        for (int y = 1; y <= n; y++) {
            const double *row = mine[R][top] + p * plane_size(top) + (long)y * width(top);
            for (int x = 1; x <= n; x++)
                sum += row[x] * row[x];
        }
    return sqrt(nas_sum(sum) / ((double)n * n * n));
}

int main(int argc, char **argv)
{
    const int class = nas_class(argc, argv, "nas_mg", classes);
    top = published[class].log_n;
    memcpy(smoother, published[class].smoother, sizeof smoother);
    for (int kind = 0; kind < KINDS; kind++)
        for (int level = 1; level <= top; level++) {
            const slab here = (slab)upc_alloc(slab_size(level) * sizeof(double));
            slabs[MYTHREAD][kind][level] = here;
            mine[kind][level] = (double *)here;
        }
    double *v = malloc(slab_size(top) * sizeof *v);
    place_charges(v);

    double start = 0;
    /* Once for warming up. */
    for (int run = 0; run < 2; run++) {
        memset(mine[U][top], 0, slab_size(top) * sizeof(double));
        upc_barrier;
        start = seconds();
        residual(mine[R][top], mine[U][top], v, top);
        close_borders(R, top);
        for (int k = 0; k < (run ? published[class].cycles : 1); k++)
            cycle(v);
    }
    const double reached = norm(), elapsed = seconds() - start;

    const int passed = nas_close("the residual's norm", reached, published[class].norm, 1e-8);
    free(v);
    upc_barrier; /* nobody fetches any more */
    for (int kind = 0; kind < KINDS; kind++)
        for (int level = 1; level <= top; level++)
            upc_free(slabs[MYTHREAD][kind][level]);
    return nas_report("MG", classes[class], elapsed,
                      58e-6 * published[class].cycles * pow(points(top), 3), passed);
}
