// Vector types and immintrin.h.
// threads: 1 2
#include "check.h"
typedef int v4 __attribute__((vector_size(16)));
typedef float f4 __attribute__((vector_size(16)));
typedef unsigned char b16 __attribute__((vector_size(16), aligned(1)));
#if defined __x86_64__
#include <immintrin.h>
static double sum(const double *p)
{
    __m128d a = _mm_loadu_pd(p), b = _mm_loadu_pd(p + 2);
    a = _mm_add_pd(a, b);
    return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a)));
}
__attribute__((target("avx2"))) static int avx(const int *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)p);
    v = _mm256_add_epi32(v, v);
    return _mm256_extract_epi32(v, 7);
}
#endif
shared [4] int a[4 * THREADS];
int main(void)
{
    v4 v = {1, 2, 3, 4}, w = v * 2 + 1;
    w[2] += v[0];
    CHECK(w[0] == 3 && w[2] == 8 && (v < w)[0] == -1 && (-v)[3] == -4 && (v << 1)[1] == 4);
    f4 f = {1.5f, 2, 3, 4};
    f = f / 2 - (f4){1};
    CHECK(f[0] == -0.25f);
    v4 mask = {3, 2, 1, 0};
    v = __builtin_shuffle(v, mask);
    CHECK(v[0] == 4 && ((v > 2) & w)[0] == 3 && sizeof(b16) == 16);
    *(v4 *)&a[4 * MYTHREAD] = v;
    CHECK_EQ(a[4 * MYTHREAD + 1], 3);
#if defined __x86_64__
    CHECK(sum((double[]){1, 2, 3, 4}) == 10);
    if (__builtin_cpu_supports("avx2"))
        CHECK_EQ(avx((int[]){1, 2, 3, 4, 5, 6, 7, 8}), 16);
#endif
    PASS();
}
