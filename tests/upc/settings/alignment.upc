// UPC_SHARED_ALLOC_ALIGN: objects of at least that many bytes start at a multiple of it.
// threads: 1 3
// env: UPC_SHARED_ALLOC_ALIGN=512
#include "check.h"
int main(void)
{
    size_t n, i;
    for (n = 512; n < 6000; n += 123) {
        for (i = 0; i < 3; i++) {
            shared void *p = upc_alloc(n), *q = upc_all_alloc(THREADS, n), *r = upc_global_alloc(THREADS, n);
            CHECK_EQ(upc_addrfield(p) % 512, 0);
            CHECK_EQ(upc_addrfield(q) % 512, 0);
            CHECK_EQ(upc_addrfield(r) % 512, 0);
            CHECK_EQ((size_t)(void *)p % 512, 0);
            upc_memset(p, 1, n);
            if (i)
                upc_free(p);
        }
    }
    PASS();
}
