// threads: 1 2
// expect-runtime: shared memory
#include <upc.h>
int main(void)
{
    shared void *p = upc_alloc((size_t)1 << 46);
    return p == NULL ? 0 : 0;
}
