// What loops do to arrays: provably local accesses, neighbours, and mixtures.
// static: yes
#include "check.h"

#define N 50
#define ARRAYS(B, s)                                                                               \
    shared [B] double a##s[N * THREADS], b##s[N * THREADS], c##s[N * THREADS];                     \
    static void check##s(void)                                                                     \
    {                                                                                              \
        const int n = N * THREADS;                                                                 \
        upc_forall (int i = 0; i < n; i++; &b##s[i]) {                                             \
            b##s[i] = i;                                                                           \
            c##s[i] = 2 * i;                                                                       \
        }                                                                                          \
        upc_barrier;                                                                               \
        upc_forall (int i = 0; i < n; i++; &a##s[i])                                               \
            a##s[i] = b##s[i] + 3.0 * c##s[i];                                                     \
        upc_barrier;                                                                               \
        for (int i = 0; i < n; i++)                                                                \
            CHECK(a##s[i] == 7.0 * i);                                                             \
        upc_barrier;                                                                               \
        upc_forall (int i = 1; i < n - 1; i++; &a##s[i])                                           \
            a##s[i] = b##s[i - 1] + b##s[i + 1] - c##s[i];                                         \
        upc_barrier;                                                                               \
        for (int i = 1; i < n - 1; i++)                                                            \
            CHECK(a##s[i] == 0);                                                                   \
        upc_forall (int i = 0; i < n; i++; &a##s[i])                                               \
            c##s[n - 1 - i] = i;                                                                   \
        upc_barrier;                                                                               \
        for (int i = 0; i < n; i++)                                                                \
            CHECK(c##s[i] == n - 1 - i);                                                           \
        upc_barrier;                                                                               \
        double sum = 0;                                                                            \
        upc_forall (int i = 0; i < n; i++; &c##s[i]) {                                             \
            int k = i;                                                                             \
            sum += c##s[k];                                                                        \
            k = (i + 1) % n;                                                                       \
            sum += c##s[k];                                                                        \
            b##s[i]++;                                                                             \
            b##s[i] *= 2;                                                                          \
        }                                                                                          \
        static shared double sums[THREADS];                                                        \
        sums[MYTHREAD] = sum;                                                                      \
        upc_barrier;                                                                               \
        sum = 0;                                                                                   \
        for (int t = 0; t < THREADS; t++)                                                          \
            sum += sums[t];                                                                        \
        CHECK(sum == (double)n * (n - 1));                                                         \
        for (int i = 0; i < n; i++)                                                                \
            CHECK(b##s[i] == 2 * (i + 1));                                                         \
        upc_barrier;                                                                               \
    }

ARRAYS(1, _1)
ARRAYS(5, _5)
ARRAYS(16, _16)
ARRAYS(1024, _1024)
ARRAYS(N, _n)
ARRAYS(*, _star)

/* Arrays of different layouts in one loop. */
shared [3] int three[N * THREADS];
shared [4] int four[N * THREADS];

int main(void)
{
    check_1();
    check_5();
    check_16();
    check_1024();
    check_n();
    check_star();
    const int n = N * THREADS;
    upc_forall (int i = 0; i < n; i++; &three[i]) {
        three[i] = i;
        four[i] = -i;
    }
    upc_barrier;
    for (int i = 0; i < n; i++)
        CHECK(three[i] == i && four[i] == -i);
    PASS();
}
