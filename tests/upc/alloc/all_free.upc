// upc_all_free: storage is valid until all threads have entered; null; objects of every allocator.
// static: yes
#include "check.h"
#include <unistd.h>
shared int *shared from_global;
int main(void)
{
    for (int round = 0; round < 50; round++) {
        shared [4] int *p = (shared [4] int *)upc_all_alloc(2 * THREADS, 4 * sizeof(int));
        for (int i = MYTHREAD; i < 8 * THREADS; i += THREADS)
            p[i] = round + i;
        upc_barrier;
        for (int i = 0; i < 8 * THREADS; i++)
            CHECK_EQ(p[i], round + i);
        /* The others may still be reading here. */
        upc_all_free(p);
    }
    /* One thread comes late and reads; the others use what memory they get meanwhile. */
    for (int round = 0; round < 2 * THREADS; round++) {
        enum { SIZE = 1000 };
        shared [SIZE] unsigned char *p = (shared [SIZE] unsigned char *)upc_all_alloc(THREADS, SIZE);
        upc_memset(&p[SIZE * MYTHREAD], 40 + MYTHREAD, SIZE);
        upc_barrier;
        if (round % THREADS == MYTHREAD) {
            usleep(10000);
            for (int i = 0; i < SIZE * THREADS; i += 7)
                CHECK_EQ(p[i], 40 + i / SIZE);
        }
        upc_all_free(p);
        shared void *again[4];
        for (int i = 0; i < 4; i++) {
            again[i] = i % 2 ? upc_alloc(SIZE) : upc_global_alloc(1, SIZE);
            upc_memset(again[i], 200, SIZE);
        }
        for (int i = 0; i < 4; i++)
            upc_free(again[i]);
    }
    CHECKED("valid-until-entered");
    upc_all_free(NULL);
    if (MYTHREAD == THREADS - 1)
        from_global = (shared int *)upc_global_alloc(THREADS, sizeof(int));
    upc_barrier;
    shared int *q = from_global;
    q[MYTHREAD] = 3;
    upc_barrier;
    upc_all_free(q);
    CHECKED("any-object");
    /* What is freed comes back: far more than the heap in all. */
    for (int i = 0; i < 200; i++) {
        shared void *big = upc_all_alloc(THREADS, 4 << 20);
        CHECK(big != NULL);
        upc_all_free(big);
    }
    CHECKED("comes-back");
    PASS();
}
