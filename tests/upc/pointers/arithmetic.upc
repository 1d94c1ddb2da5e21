// p + i, p - i, ++, --, += and [] against the place that the definition of the layout gives.
// static: yes
#include "check.h"

#define WALK(name, T, B, count)                                                                    \
    shared [B] T name[count * THREADS];                                                            \
    static void at_##name(shared [B] T *p, long i)                                                 \
    {                                                                                              \
        CHECK_EQ(upc_threadof(p), i / (B) % THREADS);                                              \
        CHECK_EQ(upc_phaseof(p), i % (B));                                                         \
        CHECK_EQ(upc_addrfield(p) - upc_addrfield(name),                                           \
                 (i / (B) / THREADS * (B) + i % (B)) * sizeof(T));                                 \
        CHECK(p == &name[i]);                                                                      \
    }                                                                                              \
    static void walk_##name(void)                                                                  \
    {                                                                                              \
        const long n = (long)count * THREADS;                                                      \
        for (long i = 0; i < n; i++)                                                               \
            for (long j = 0; j < n; j += 1 + j / 8) {                                              \
                at_##name(&name[i] + (j - i), j);                                                  \
                at_##name((j - i) + &name[i], j);                                                  \
                at_##name(&name[i] - (i - j), j);                                                  \
                at_##name(&(&name[i])[j - i], j);                                                  \
                shared [B] T *p = &name[i];                                                        \
                p += j - i;                                                                        \
                at_##name(p, j);                                                                   \
                p -= j - i;                                                                        \
                at_##name(p, i);                                                                   \
                CHECK_EQ(&name[j] - &name[i], j - i);                                              \
                CHECK_EQ(&name[i] < &name[j], i < j);                                              \
                CHECK_EQ(&name[i] > &name[j], i > j);                                              \
                CHECK_EQ(&name[i] <= &name[j], i <= j);                                            \
                CHECK_EQ(&name[i] >= &name[j], i >= j);                                            \
                CHECK_EQ(&name[i] == &name[j], i == j);                                            \
                CHECK_EQ(&name[i] != &name[j], i != j);                                            \
            }                                                                                      \
        shared [B] T *p = name;                                                                    \
        for (long i = 0; i < n; i++) {                                                             \
            at_##name(p, i);                                                                       \
            shared [B] T *q = p++;                                                                 \
            at_##name(q, i);                                                                       \
        }                                                                                          \
        CHECK_EQ(p - name, n);                                                                     \
        for (long i = n - 1; i >= 0; i--) {                                                        \
            if (i % 2)                                                                             \
                p--;                                                                               \
            else                                                                                   \
                --p;                                                                               \
            at_##name(p, i);                                                                       \
        }                                                                                          \
        for (unsigned char u = 0; u < n && u < 200; u++)                                           \
            at_##name(name + u, u);                                                                \
    }

typedef struct {
    char c[3];
} three;

WALK(a, int, 1, 9)
WALK(b, double, 2, 7)
WALK(c, char, 3, 8)
WALK(d, three, 5, 11)
WALK(e, long, 8, 16)
WALK(f, short, 100, 10)

int main(void)
{
    walk_a();
    walk_b();
    walk_c();
    walk_d();
    walk_e();
    walk_f();
    PASS();
}
