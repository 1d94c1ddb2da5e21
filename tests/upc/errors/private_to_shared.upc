// A private address never becomes a pointer-to-shared, by cast or without.
#include <upc.h>
int x, v[4];
shared int *at_file_scope = &x; // expect-error:
static void take(shared int *p) { (void)p; }
static shared int *give(void)
{
    return &x; // expect-error:
}
int main(void)
{
    shared int *p;
    p = &x; // expect-error:
    p = (shared int *)&x; // expect-error:
    shared void *q = (shared void *)v; // expect-error:
    take(v); // expect-error:
    return p == q && give();
}
