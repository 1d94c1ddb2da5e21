// upc_*sizeof want shared things.
#include <upc.h>
int x;
int *p;
shared int *q;
int f(void);
shared int a[THREADS];
int main(void)
{
    int r = upc_localsizeof(a) + upc_blocksizeof(*q);
    r += upc_localsizeof(x); // expect-error:
    r += upc_blocksizeof(int); // expect-error:
    r += upc_elemsizeof(p); // expect-error:
    r += upc_blocksizeof(q); // expect-error:
    r += upc_elemsizeof(f); // expect-error:
    r += upc_localsizeof(void); // expect-error:
    r += sizeof(f); // expect-error:
    return r;
}
