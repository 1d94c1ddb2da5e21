// upc_local_alloc of UPC 1.2 still serves old programs.
#include "check.h"

int main(void)
{
    shared [] int *p = upc_local_alloc(10, sizeof(int));
    CHECK_EQ(upc_threadof(p), MYTHREAD);
    CHECK_EQ(upc_phaseof(p), 0);
    for (int i = 0; i < 10; i++)
        p[i] = i;
    CHECK_EQ(p[9], 9);
    upc_free(p);
    CHECK(upc_local_alloc(0, 8) == NULL);
    PASS();
}
