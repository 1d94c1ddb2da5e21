// Pointers-to-shared of different types and qualifiers, without a cast.
#include <upc.h>
shared int i[THREADS];
shared double d[THREADS];
shared const int c[THREADS];
shared volatile int v[THREADS];
struct s;
static void take(shared double *p) { (void)p; }
int main(void)
{
    shared int *p = i;
    shared const int *read_only = i;
    shared volatile int *watched = p;
    strict shared int *ordered = (strict shared int *)p;
    shared void *generic = p;
    shared const void *generic_const = c;
    read_only = p;
    // rule: different-types
    p = d; // expect-diagnostic:
    take(i); // expect-diagnostic:
    shared struct s *q = p; // expect-diagnostic:
    shared char *bytes = &d[0]; // expect-diagnostic:
    p = (shared int *)d;
    // rule: qualifiers
    p = c; // expect-diagnostic:
    p = read_only; // expect-diagnostic:
    p = v; // expect-diagnostic:
    generic = c; // expect-diagnostic:
    int *private = i; // expect-diagnostic:
    return p == 0 && generic == generic_const && ordered == 0 && watched == 0 && q == 0 && bytes == 0 && private == 0;
}
