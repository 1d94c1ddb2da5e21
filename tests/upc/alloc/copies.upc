// upc_memcpy, upc_memget, upc_memput, upc_memset: all lengths, offsets and threads.
// static: yes
#include "check.h"
#include <string.h>

#define SIZE 300
shared [SIZE] unsigned char a[THREADS][SIZE];
shared [SIZE] unsigned char b[THREADS][SIZE];
static unsigned char mine[SIZE], back[SIZE];

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    for (int n = 0; n <= 70; n++)
        for (int offset = 0; offset < 9; offset++) {
            for (int i = 0; i < SIZE; i++)
                mine[i] = (unsigned char)(i * 3 + n + MYTHREAD);
            upc_memset(&a[right][0], 0xee, SIZE);
            upc_memput(&a[right][offset], mine + 8 - offset, n);
            for (int i = 0; i < SIZE; i += i < 90 ? 1 : 50)
                CHECK_EQ(a[right][i], i >= offset && i < offset + n ? mine[8 - offset + i - offset]
                                                                    : 0xee);
            memset(back, 0x11, sizeof back);
            upc_memget(back + 3, &a[right][offset], n);
            CHECK_EQ(back[2], 0x11);
            CHECK_EQ(back[3 + n], 0x11);
            CHECK(memcmp(back + 3, mine + 8 - offset, n) == 0);
        }
    upc_barrier;
    /* From the right neighbour's a to the second neighbour's b, both remote to this thread. */
    const int second = (MYTHREAD + 2) % THREADS;
    upc_memset(b[second], 0x55, SIZE);
    upc_memcpy(&b[second][7], &a[right][1], 200);
    upc_memget(mine, &a[right][1], 200);
    upc_memget(back, b[second], SIZE);
    CHECK(memcmp(mine, back + 7, 200) == 0);
    CHECK_EQ(back[6], 0x55);
    CHECK_EQ(back[207], 0x55);
    upc_memcpy(b[MYTHREAD], a[MYTHREAD], 0);
    upc_memput(b[MYTHREAD], mine, 0);
    upc_memget(mine, b[MYTHREAD], 0);
    upc_memset(b[MYTHREAD], 1, 0);
    upc_barrier;

    /* Megabytes, and typed pointers with a phase. */
    enum { MANY = 1 << 20 };
    shared [MANY] int *big = (shared [MANY] int *)upc_all_alloc(THREADS, MANY * sizeof(int));
    int *private = malloc(MANY * sizeof(int));
    for (int i = 0; i < MANY; i++)
        private[i] = i ^ MYTHREAD;
    upc_memput(big + (long)right * MANY, private, MANY * sizeof(int));
    upc_barrier;
    const int left = (MYTHREAD + THREADS - 1) % THREADS;
    const int *here = (const int *)(big + (long)MYTHREAD * MANY);
    for (int i = 0; i < MANY; i += 1009)
        CHECK_EQ(here[i], i ^ left);
    upc_memget(private, big + (long)right * MANY + 1000, 4000);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(private[i], (i + 1000) ^ MYTHREAD);
    upc_barrier;
    upc_memset(big + (long)right * MANY, 0xff, MANY * sizeof(int));
    upc_barrier;
    CHECK(here[0] == -1 && here[MANY - 1] == -1);
    free(private);
    upc_barrier;
    upc_all_free(big);
    PASS();
}
