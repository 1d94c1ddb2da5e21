// upc_affinitysize against counting.
// static: yes
#include "check.h"

int main(void)
{
    for (size_t total = 0; total <= 60; total++)
        for (size_t block = 0; block <= 25; block++) {
            size_t have[THREADS];
            for (int t = 0; t < THREADS; t++)
                have[t] = 0;
            for (size_t byte = 0; byte < total; byte++)
                have[block ? byte / block % THREADS : 0]++;
            for (int t = 0; t < THREADS; t++)
                CHECK_EQ(upc_affinitysize(total, block, t), have[t]);
        }
    CHECK_EQ(upc_affinitysize((size_t)1 << 45, 1, 0), (((size_t)1 << 45) + THREADS - 1) / THREADS);
    PASS();
}
