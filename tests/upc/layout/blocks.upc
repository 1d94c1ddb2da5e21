// Every block size: where each element lives, its phase, and that a thread's elements are packed.
// static: yes
#include "check.h"

#define LAYOUT(name, B, count)                                                                     \
    shared [B] int name[count * THREADS];                                                          \
    static void check_##name(void)                                                                 \
    {                                                                                              \
        const long total = (long)count * THREADS;                                                  \
        for (long i = MYTHREAD; i < total; i += THREADS)                                           \
            name[i] = (int)(7 * i + 3);                                                            \
        upc_barrier;                                                                               \
        long seen = 0;                                                                             \
        for (long i = 0; i < total; i++) {                                                         \
            CHECK_EQ(name[i], 7 * i + 3);                                                          \
            CHECK_EQ(upc_threadof(&name[i]), i / (B) % THREADS);                                   \
            CHECK_EQ(upc_phaseof(&name[i]), i % (B));                                              \
            if (i / (B) % THREADS == MYTHREAD) {                                                   \
                const int *first = (const int *)(name + (long)MYTHREAD * (B));                     \
                CHECK_EQ(first[seen], 7 * i + 3);                                                  \
                seen++;                                                                            \
            }                                                                                      \
        }                                                                                          \
        CHECK_EQ(upc_phaseof(&name), 0);                                                           \
        CHECK_EQ(upc_threadof(&name), 0);                                                          \
        CHECK_EQ(upc_affinitysize(sizeof name, (B) * sizeof(int), MYTHREAD), seen * sizeof(int));  \
        upc_barrier;                                                                               \
    }

LAYOUT(a1, 1, 12)
LAYOUT(a2, 2, 5)
LAYOUT(a3, 3, 7)
LAYOUT(a4, 4, 8)
LAYOUT(a5, 5, 13)
LAYOUT(a7, 7, 3)
LAYOUT(a16, 16, 40)
LAYOUT(a1024, 1024, 1500)

int main(void)
{
    check_a1();
    check_a2();
    check_a3();
    check_a4();
    check_a5();
    check_a7();
    check_a16();
    check_a1024();
    PASS();
}
