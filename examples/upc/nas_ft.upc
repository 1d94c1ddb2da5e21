/* NAS FT: a partial differential equation on a periodic box, solved in the space of its Fourier transform.

   What it shows: a 3-D fast Fourier transform over slabs, the transposition done by putting each row where it
   is needed as soon as it is ready; complex numbers; collective sums.

   Check: the checksum of each step is the published one. */
#include <upc_relaxed.h>
#include <complex.h>
#include "nas.h"

#define SEED 314159265u
#define STEPS 20
#define SAMPLES 1024
#define COLUMNS 16 /* lines that are transformed together */
#define LONGEST 512
#define ALPHA 1e-6

typedef double complex number;

static const char classes[] = "SWAB";
static const struct {
    int nx, ny, nz, steps;
    number sum[STEPS];
} published[] = {
    {64, 64, 64, 6,
     {5.546087004964e+02 + 4.845363331978e+02 * I, 5.546385409189e+02 + 4.865304269511e+02 * I,
      5.546148406171e+02 + 4.883910722336e+02 * I, 5.545423607415e+02 + 4.901273169046e+02 * I,
      5.544255039624e+02 + 4.917475857993e+02 * I, 5.542683411902e+02 + 4.932597244941e+02 * I}},
    {128, 128, 32, 6,
     {5.673612178944e+02 + 5.293246849175e+02 * I, 5.631436885271e+02 + 5.282149986629e+02 * I,
      5.594024089970e+02 + 5.270996558037e+02 * I, 5.560698047020e+02 + 5.260027904925e+02 * I,
      5.530898991250e+02 + 5.249400845633e+02 * I, 5.504159734538e+02 + 5.239212247086e+02 * I}},
    {256, 256, 128, 6,
     {5.046735008193e+02 + 5.114047905510e+02 * I, 5.059412319734e+02 + 5.098809666433e+02 * I,
      5.069376896287e+02 + 5.098144042213e+02 * I, 5.077892868474e+02 + 5.101336130759e+02 * I,
      5.085233095391e+02 + 5.104914655194e+02 * I, 5.091487099959e+02 + 5.107917842803e+02 * I}},
    {512, 256, 256, 20,
     {5.177643571579e+02 + 5.077803458597e+02 * I, 5.154521291263e+02 + 5.088249431599e+02 * I,
      5.146409228649e+02 + 5.096208912659e+02 * I, 5.142378756213e+02 + 5.101023387619e+02 * I,
      5.139626667737e+02 + 5.103976610617e+02 * I, 5.137423460082e+02 + 5.105948019802e+02 * I,
      5.135547056878e+02 + 5.107404165783e+02 * I, 5.133910925466e+02 + 5.108576573661e+02 * I,
      5.132470705390e+02 + 5.109577278523e+02 * I, 5.131197729984e+02 + 5.110460304483e+02 * I,
      5.130070319283e+02 + 5.111252433800e+02 * I, 5.129070537032e+02 + 5.111968077718e+02 * I,
      5.128182883502e+02 + 5.112616233064e+02 * I, 5.127393733383e+02 + 5.113203605551e+02 * I,
      5.126691062020e+02 + 5.113735928093e+02 * I, 5.126064276004e+02 + 5.114218460548e+02 * I,
      5.125504076570e+02 + 5.114656139760e+02 * I, 5.125002331720e+02 + 5.115053595966e+02 * I,
      5.124551951846e+02 + 5.115415130407e+02 * I, 5.124146770029e+02 + 5.115744692211e+02 * I}},
};

static int nx, ny, nz;

/* In space a thread has planes of constant z, each [ny][nx]; in the transform's space planes of constant y, each
   [nz][nx]. */
static shared [] number *shared space[THREADS], *shared spectrum[THREADS];

static int first_of(int count, int t) { return (int)((long)count * t / THREADS); }
static int owner_of(int count, int i)
{
    int t = (int)((long)i * THREADS / count);
    while (first_of(count, t + 1) <= i)
        t++;
    return t;
}

/* Lines on their way through a transform: real and imaginary parts apart, [LONGEST][COLUMNS]. */
struct lines {
    double re[LONGEST * COLUMNS], im[LONGEST * COLUMNS];
};
static struct lines work[2];

/* e^(2 pi i k / n) for the lengths that occur; the table of a length n begins at n. */
static number roots[2 * LONGEST];

static void make_roots(int n)
{
    for (int k = 0; k < n; k++)
        roots[n + k] = cexp(2 * M_PI * I * k / n);
}

/* Transforms COLUMNS lines of n numbers in work[0], with the exponent's sign; returns where they are then.
   Stockham's form: each stage reads one buffer and writes the other, in order, and nothing is reversed. */
static struct lines *transform(int n, double sign)
{
    struct lines *x = &work[0], *y = &work[1];
    int left = n;
    for (long run = COLUMNS; left > 1;) {
        const int parts = left % 4 == 0 ? 4 : 2, m = left / parts, step = n / left;
        for (int p = 0; p < m; p++) {
            const double *ar = x->re + p * run, *ai = x->im + p * run;
            double *yr = y->re + parts * p * run, *yi = y->im + parts * p * run;
            const long d = m * run;
            const double w1r = creal(roots[n + p * step]), w1i = sign * cimag(roots[n + p * step]);
            if (parts == 2) {
                for (long i = 0; i < run; i++) {
                    const double dr = ar[i] - ar[i + d], di = ai[i] - ai[i + d];
                    yr[i] = ar[i] + ar[i + d];
                    yi[i] = ai[i] + ai[i + d];
                    yr[i + run] = dr * w1r - di * w1i;
                    yi[i + run] = dr * w1i + di * w1r;
                }
                continue;
            }
            const double w2r = creal(roots[n + 2 * p * step]), w2i = sign * cimag(roots[n + 2 * p * step]);
            const double w3r = creal(roots[n + 3 * p * step]), w3i = sign * cimag(roots[n + 3 * p * step]);
            for (long i = 0; i < run; i++) {
                const double sr = ar[i] + ar[i + 2 * d], si = ai[i] + ai[i + 2 * d];
                const double tr = ar[i] - ar[i + 2 * d], ti = ai[i] - ai[i + 2 * d];
                const double ur = ar[i + d] + ar[i + 3 * d], ui = ai[i + d] + ai[i + 3 * d];
                const double vr = sign * (ar[i + d] - ar[i + 3 * d]), vi = sign * (ai[i + d] - ai[i + 3 * d]);
                const double br = tr - vi, bi = ti + vr, cr = sr - ur, ci = si - ui, er = tr + vi, ei = ti - vr;
                yr[i] = sr + ur;
                yi[i] = si + ui;
                yr[i + run] = br * w1r - bi * w1i;
                yi[i + run] = br * w1i + bi * w1r;
                yr[i + 2 * run] = cr * w2r - ci * w2i;
                yi[i + 2 * run] = cr * w2i + ci * w2r;
                yr[i + 3 * run] = er * w3r - ei * w3i;
                yi[i + 3 * run] = er * w3i + ei * w3r;
            }
        }
        run *= parts;
        left = m;
        struct lines *other = x;
        x = y;
        y = other;
    }
    return x;
}

/* COLUMNS columns of a plane [n][nx], from column x on. */
static void load_columns(const number *plane, int n, int x)
{
    for (int k = 0; k < n; k++)
        for (int c = 0; c < COLUMNS; c++) {
            work[0].re[k * COLUMNS + c] = creal(plane[(long)k * nx + x + c]);
            work[0].im[k * COLUMNS + c] = cimag(plane[(long)k * nx + x + c]);
        }
}
static void store_columns(number *plane, int n, int x, const struct lines *from)
{
    double *to = (double *)plane;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < COLUMNS; c++) {
            to[2 * ((long)k * nx + x + c)] = from->re[k * COLUMNS + c];
            to[2 * ((long)k * nx + x + c) + 1] = from->im[k * COLUMNS + c];
        }
}

/* Transforms a plane [ny][nx] of space in both directions. */
static void transform_plane(number *plane, double sign)
{
    double *parts = (double *)plane;
    for (int y = 0; y < ny; y += COLUMNS) {
        for (int c = 0; c < COLUMNS; c++)
            for (int k = 0; k < nx; k++) {
                work[0].re[k * COLUMNS + c] = parts[2 * ((long)(y + c) * nx + k)];
                work[0].im[k * COLUMNS + c] = parts[2 * ((long)(y + c) * nx + k) + 1];
            }
        const struct lines *done = transform(nx, sign);
        for (int c = 0; c < COLUMNS; c++)
            for (int k = 0; k < nx; k++) {
                parts[2 * ((long)(y + c) * nx + k)] = done->re[k * COLUMNS + c];
                parts[2 * ((long)(y + c) * nx + k) + 1] = done->im[k * COLUMNS + c];
            }
    }
    for (int x = 0; x < nx; x += COLUMNS) {
        load_columns(plane, ny, x);
        store_columns(plane, ny, x, transform(ny, sign));
    }
}

/* e^(-4 alpha pi^2 k^2) for the frequencies of one direction: a step in time damps by the product of three. */
static double *damping(int n)
{
    double *d = malloc(n * sizeof *d);
    for (int i = 0; i < n; i++) {
        const int k = (i + n / 2) % n - n / 2;
        d[i] = exp(-4 * ALPHA * M_PI * M_PI * k * k);
    }
    return d;
}

int main(int argc, char **argv)
{
    const int class = nas_class(argc, argv, "nas_ft", classes);
    nx = published[class].nx;
    ny = published[class].ny;
    nz = published[class].nz;
    const int y0 = first_of(ny, MYTHREAD), y1 = first_of(ny, MYTHREAD + 1);
    const int z0 = first_of(nz, MYTHREAD), z1 = first_of(nz, MYTHREAD + 1);
    const long area = (long)nx * ny, layer = (long)nx * nz, row = nx * sizeof(number);
    space[MYTHREAD] = (shared [] number *)upc_alloc((z1 - z0) * area * sizeof(number));
    spectrum[MYTHREAD] = (shared [] number *)upc_alloc((y1 - y0) * layer * sizeof(number));
    number *here = (number *)space[MYTHREAD], *waves = (number *)spectrum[MYTHREAD];
    number *scratch = malloc(layer * sizeof *scratch);
    double *damp_x = damping(nx), *damp_y = damping(ny), *damp_z = damping(nz);
    /* Touch the memory before the clock starts. */
    memset(here, 0, (z1 - z0) * area * sizeof *here);
    memset(waves, 0, (y1 - y0) * layer * sizeof *waves);
    /* The pieces of all threads, so that the transposition does not look them up. */
    shared [] number **space_of = malloc(THREADS * sizeof *space_of);
    shared [] number **spectrum_of = malloc(THREADS * sizeof *spectrum_of);
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        space_of[t] = space[t];
        spectrum_of[t] = spectrum[t];
    }

    upc_barrier;
    const double start = seconds();
    make_roots(nx);
    make_roots(ny);
    make_roots(nz);
    uint64_t seed = nas_next(SEED, nas_power(NAS_A, 2 * (uint64_t)z0 * area));
    for (int z = z0; z < z1; z++) {
        number *plane = here + (z - z0) * area;
        double *parts = (double *)plane;
        for (long i = 0; i < 2 * area; i++)
            parts[i] = nas_random(&seed);
        transform_plane(plane, 1);
        for (int y = 0; y < ny; y++) {
            const int t = owner_of(ny, y);
            upc_memput(spectrum_of[t] + (y - first_of(ny, t)) * layer + (long)z * nx, plane + (long)y * nx, row);
        }
    }
    upc_barrier;
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < nx; x += COLUMNS) {
            number *plane = waves + (y - y0) * layer;
            load_columns(plane, nz, x);
            store_columns(plane, nz, x, transform(nz, 1));
        }

    number sum[STEPS];
    for (int step = 0; step < published[class].steps; step++) {
        for (int y = y0; y < y1; y++) {
            number *plane = waves + (y - y0) * layer;
            for (int x = 0; x < nx; x += COLUMNS) {
                for (int z = 0; z < nz; z++) {
                    double *at = (double *)(plane + (long)z * nx + x);
                    const double damp = damp_y[y] * damp_z[z];
                    for (int c = 0; c < COLUMNS; c++) {
                        const double f = damp * damp_x[x + c];
                        work[0].re[z * COLUMNS + c] = at[2 * c] *= f;
                        work[0].im[z * COLUMNS + c] = at[2 * c + 1] *= f;
                    }
                }
                store_columns(scratch, nz, x, transform(nz, -1));
            }
            for (int z = 0; z < nz; z++) {
                const int t = owner_of(nz, z);
                upc_memput(space_of[t] + (z - first_of(nz, t)) * area + (long)y * nx, scratch + (long)z * nx, row);
            }
        }
        upc_barrier;
        for (int z = z0; z < z1; z++)
            transform_plane(here + (z - z0) * area, -1);
        number mine = 0;
        for (int j = 1; j <= SAMPLES; j++) {
            const int z = 5 * j % nz;
            if (z >= z0 && z < z1)
                mine += here[(z - z0) * area + (long)(3 * j % ny) * nx + j % nx];
        }
        /* Their barriers also keep the next step's puts away from what others still look at. */
        const double re = nas_sum(creal(mine)), im = nas_sum(cimag(mine));
        sum[step] = (re + im * I) / ((double)area * nz);
    }
    const double elapsed = seconds() - start;

    int passed = 1;
    for (int step = 0; step < published[class].steps; step++) {
        passed &= nas_close("a checksum's real part", creal(sum[step]), creal(published[class].sum[step]), 1e-12);
        passed &= nas_close("a checksum's imaginary part", cimag(sum[step]), cimag(published[class].sum[step]), 1e-12);
    }
    const double size = (double)area * nz;
    free(scratch);
    free(damp_x);
    free(damp_y);
    free(damp_z);
    free(space_of);
    free(spectrum_of);
    upc_barrier;
    upc_free(space[MYTHREAD]);
    upc_free(spectrum[MYTHREAD]);
    return nas_report("FT", classes[class], elapsed,
                      1e-6 * size * (14.8157 + 7.19641 * log(size) + (5.23518 + 7.21113 * log(size)) * published[class].steps),
                      passed);
}
