// Binary operators between pointers of different kinds.
#include <upc.h>
shared int a[THREADS];
shared [2] int b[2 * THREADS];
shared [] int c[4];
int d[4];
int main(void)
{
    int *q = d;
    int r = a == d; // expect-error:
    r += &a[0] - q; // expect-error:
    r += q < &a[0]; // expect-error:
    r += a == b; // expect-error:
    r += &b[0] == &c[0]; // expect-error:
    r += a > b; // expect-error:
    r += &a[0] > &c[0]; // expect-error:
    r += &b[0] - &a[0]; // expect-error:
    r += a == (shared void *)b;
    r += a == 0;
    return r;
}
