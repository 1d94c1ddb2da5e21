// Numbers of all kinds.
// threads: 1 2
#include "check.h"
#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
shared long double ld[THREADS];
shared _Float128 q[THREADS];
shared _Complex double z[THREADS];
shared _Complex float zf[THREADS];
shared __int128 wide[THREADS];
static _Float128 twice(_Float128 x) { return 2 * x; }
static long double half(long double x) { return x / 2.0L; }
int main(void)
{
    const int me = MYTHREAD;
    ld[me] = 1.0L + LDBL_EPSILON;
    CHECK(ld[me] > 1.0L && half(ld[me]) > 0.5L && sizeof(long double) == 16);
    ld[me] += 2;
    CHECK(ld[me]-- == 3.0L && ld[me] == 2);
    CHECKED("long-double");
    q[me] = 1.0Q;
    q[me] /= 3;
    CHECK(twice(q[me]) - 2.0Q / 3 == 0 && (double)q[me] == 1.0 / 3);
    CHECK(sizeof(_Float128) == 16 && sizeof(_Float64) == 8 && sizeof(_Float32) == 4 && sizeof(__float128) == 16);
    CHECK((_Float64x)1 / 3 == 1.0L / 3 && 1.5f32 == 1.5f && 2.5f64 == 2.5);
    CHECKED("float128");
    z[me] = 1.0 + 2.0i;
    z[me] *= 2.0 - 1.0 * I;
    CHECK(creal(z[me]) == 4.0 && cimag(z[me]) == 3.0 && __real__ z[me] == 4 && cabs(z[me]) == 5);
    zf[me] = z[me];
    zf[me] = ~zf[me];
    CHECK(cimagf(zf[me]) == -3.0f && zf[me] != z[me] && sizeof zf[0] == 8);
    double complex w = z[me];
    __imag__ w = 1;
    CHECK(cimag(w) == 1 && (int)w == 4 && w == 4 + 1i);
    complex int ci = 3 + 4i;
    CHECK(__real__ ci == 3 && __imag__ ci == 4);
    CHECKED("complex");
    wide[me] = (__int128)1 << 100;
    wide[me] |= 5;
    CHECK((long)(wide[me] >> 98) == 4 && (int)wide[me] == 5 && (unsigned __int128)-1 > 0 && wide[me] % 7 == ((__int128)1 << 100 | 5) % 7);
    CHECKED("int128");
    CHECK(0777 == 511 && 0b101 == 5 && 0xffffffff == 4294967295u && 2147483648 > 0 && -2147483648 < 0);
    CHECK_EQ(_Generic(0xffffffff, unsigned: 1, default: 0) + _Generic(4294967295, long: 1, default: 0) +
                 _Generic(1u, unsigned: 1, default: 0) + _Generic(1ull, unsigned long long: 1, default: 0) +
                 _Generic(0x8000000000000000, unsigned long: 1, default: 0) + _Generic(1.f, float: 1, default: 0) +
                 _Generic(1.l, long double: 1, default: 0) + _Generic('a', int: 1, default: 0),
             8);
    CHECK(INT64_MIN < 0 && UINT64_MAX > 0 && INT_MIN / -1.0 > 0 && CHAR_BIT == 8);
    CHECK(isnan(NAN) && isinf(INFINITY) && HUGE_VAL > DBL_MAX && __builtin_isnan(__builtin_nanf("")) && __builtin_inff() > 1);
    CHECK(-7 / 2 == -3 && -7 % 2 == -1 && (-7 >> 1) == -4 && (unsigned char)300 == 44 && (signed char)200 == -56);
    CHECK((1 ? -1 : 1u) > 0 && sizeof(1 ? (char)1 : (short)1) == 4 && !(-1 < sizeof(int)));
    CHECKED("constants");
    PASS();
}
