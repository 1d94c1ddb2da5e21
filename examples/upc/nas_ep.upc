/* NAS EP: pairs of Gaussian random numbers by the polar method, counted by square annuli.

   What it shows: work dealt out by an integer affinity, a jump to any place of one random sequence,
   reductions of the collective library.

   Check: the sums over both halves of all pairs are the published ones, and every accepted pair is in
   one annulus. */
#include <upc_relaxed.h>
#include <upc_collective.h>
#include "nas.h"

#define SEED 271828183u
#define PAIRS 65536 /* generated together */
#define ANNULI 10

static const char classes[] = "SWAB";
static const struct {
    int log_pairs;
    double sx, sy;
} published[] = {
    {24, -3.247834652034740e3, -6.958407078382297e3},
    {25, -2.863319731645753e3, -6.320053679109499e3},
    {28, -4.295875165629892e3, -1.580732573678431e4},
    {30, 4.033815542441498e4, -2.660669192809235e4},
};

static shared double part[THREADS];
static shared [] double sum[1];

/* The sum of one number from each thread. */
static double over_threads(double mine)
{
    part[MYTHREAD] = mine;
    upc_all_reduceD(sum, part, UPC_ADD, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    const double all = sum[0];
    upc_barrier; /* everybody has it */
    return all;
}

int main(int argc, char **argv)
{
    const int class = nas_class(argc, argv, "nas_ep", classes);
    const long blocks = 1L << (published[class].log_pairs - 16);
    static double number[2 * PAIRS];
    double sx = 0, sy = 0;
    long count[ANNULI] = {0}, accepted = 0;

    upc_barrier;
    const double start = seconds();
    upc_forall (long block = 0; block < blocks; block++; block) {
        uint64_t x = nas_next(SEED, nas_power(NAS_A, 2 * PAIRS * (uint64_t)block));
        for (long i = 0; i < 2 * PAIRS; i++)
            number[i] = 2 * nas_random(&x) - 1;
        for (long i = 0; i < PAIRS; i++) {
            const double u = number[2 * i], v = number[2 * i + 1], t = u * u + v * v;
            if (t > 1)
                continue;
            const double f = sqrt(-2 * log(t) / t), gx = u * f, gy = v * f;
            count[(int)fmax(fabs(gx), fabs(gy))]++;
            accepted++;
            sx += gx;
            sy += gy;
        }
    }

    sx = over_threads(sx);
    sy = over_threads(sy);
    const double all = over_threads((double)accepted);
    double counted = 0;
    for (int k = 0; k < ANNULI; k++)
        counted += over_threads((double)count[k]);
    const double elapsed = seconds() - start;

    int passed = counted == all;
    passed &= nas_close("the first sum", sx, published[class].sx, 1e-8);
    passed &= nas_close("the second sum", sy, published[class].sy, 1e-8);
    return nas_report("EP", classes[class], elapsed, (double)(blocks * PAIRS) * 1e-6, passed);
}
