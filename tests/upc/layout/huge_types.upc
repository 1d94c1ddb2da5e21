// Types and distances beyond 4 GiB.
// threads: 1 2 3 4
// static: yes
#include "check.h"

typedef struct {
    char byte[1 << 20];
} mega;

int main(void)
{
    CHECK_EQ(sizeof(shared [1024] char[8589934592 * THREADS]), 8589934592LL * THREADS);
    CHECK_EQ(upc_localsizeof(shared [1024] char[8589934592 * THREADS]), 8589934592LL);
    CHECK_EQ(sizeof(shared [] mega[5000]), 5000LL << 20);
    CHECK_EQ(upc_blocksizeof(shared [UPC_MAX_BLOCK_SIZE] int), UPC_MAX_BLOCK_SIZE);
    CHECK(UPC_MAX_BLOCK_SIZE >= 1 << 20);
#if UPC_MAX_BLOCK_SIZE < 1048576
    CHECK(0);
#endif
    shared mega *p = (shared mega *)upc_all_alloc(THREADS, sizeof(mega));
    shared mega *q = p + 6L * THREADS;
    CHECK_EQ(q - p, 6L * THREADS);
    CHECK_EQ(upc_addrfield(q) - upc_addrfield(p), 6L << 20);
    PASS();
}
