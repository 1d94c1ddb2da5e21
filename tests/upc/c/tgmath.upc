// complex.h and tgmath.h.
// threads: 1 2
#include "check.h"
#include <tgmath.h>
shared double d[THREADS];
shared float f[THREADS];
shared double complex z[THREADS];
int main(void)
{
    const int me = MYTHREAD;
    d[me] = 2.25;
    f[me] = 4.0f;
    z[me] = -4.0;
    CHECK(sqrt(d[me]) == 1.5 && sizeof(sqrt(f[me])) == sizeof(float) && sizeof(sqrt(4)) == sizeof(double));
    CHECK(sizeof(sqrt(4.0L)) == sizeof(long double) && sizeof(exp(z[me])) == sizeof(double complex));
    CHECK(creal(sqrt(z[me])) < 1e-15 && cimag(sqrt(z[me])) == 2.0);
    CHECK(fabs(-f[me]) == 4.0f && fabs(3 + 4 * I) == 5.0 && pow(f[me], 2) == 16 && fmax(1.0f, d[me]) == 2.25);
    CHECK(carg(1.0f) == 0 && conj(z[me]) == -4 && cproj(1.0) == 1 && ldexp(f[me], 1) == 8 && lrint(2.5f) == 2);
    CHECK(floor(-0.5) == -1 && fma(2.0f, 3.0f, 1.0f) == 7 && creal(cexp(0.0 * I)) == 1 && sizeof(1.0f * I) == 8);
    PASS();
}
