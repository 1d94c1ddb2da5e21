// A thread waits by reads of its own memory through private pointers, which call nothing: it serves the others.
// threads: 2
// static: no
// env: GASNET_CONDUIT=smp
// env: GASNET_NEIGHBORHOOD=off
#include <upc_relaxed.h>
#include "check.h"

struct pair { int spare, count; };
shared struct pair flag[THREADS];
shared long word[THREADS];

static void until(volatile long *own, long k)
{
    while (*own < k) { }
}

int main(void)
{
    volatile struct pair *pair = (volatile struct pair *)&flag[MYTHREAD];
    long n = 0;

    upc_barrier;
    for (int k = 1; k <= 200; k++) {
        if (MYTHREAD == (k & 1)) {
            if (k % 3 == 0) word[!MYTHREAD] = k;
            else flag[!MYTHREAD].count = k;
            upc_fence;
        } else if (k % 3 == 0) {
            until((volatile long *)&word[MYTHREAD], k);
            n++;
        } else if (k % 3 == 1) {
            for (; pair[0].count < k;)
                ;
            n++;
        } else {
            do ; while (pair->count < k);
            n++;
        }
    }
    CHECK_EQ(n, 100);
    upc_barrier;
    PASS();
}
