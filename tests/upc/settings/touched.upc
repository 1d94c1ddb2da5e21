// UPC_FORCETOUCH and UPC_FIRSTTOUCH: every page of a thread's memory is there before main.
// threads: 1 2
// env: UPC_SHARED_HEAP_SIZE=8MB
// env: UPC_FORCETOUCH=yes
// env: UPC_FIRSTTOUCH=yes
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>

shared [1 << 16] char statics[65536 * THREADS];

static void all_there(char *p, size_t n)
{
    static unsigned char there[1 << 12];
    size_t i, pages = n / 4096;
    p = (char *)(((size_t)p + 4095) / 4096 * 4096);
    CHECK_EQ(mincore(p, (pages - 1) * 4096, there), 0);
    for (i = 0; i < pages - 1; i++)
        CHECK(there[i] & 1);
}

int main(void)
{
    all_there((char *)&statics[MYTHREAD << 16], 1 << 16);
    all_there((char *)upc_alloc(4 << 20), 4 << 20);
    PASS();
}
