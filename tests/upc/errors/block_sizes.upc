// Pointers of different block sizes do not mix without a cast.
#include <upc.h>
struct s {
    int f;
    shared int *to_one;
};
shared [3] int a[3 * THREADS];
shared [*] int star[4 * THREADS];
shared struct s s;
shared int *init = a; // expect-diagnostic:
static void take(shared [4] int *p) { (void)p; }
static shared [] int *give(shared int *p)
{
    return p; // expect-diagnostic:
}
int main(void)
{
    shared [3] int *p3 = a;
    shared int *p1 = (shared int *)p3;
    shared [] int *p0 = (shared [] int *)p3;
    shared void *generic = p3;
    p3 = generic;
    p1 = p3; // expect-diagnostic:
    p3 = p1; // expect-diagnostic:
    p0 = p1; // expect-diagnostic:
    p1 = p0; // expect-diagnostic:
    p1 = star; // expect-diagnostic:
    take(p3); // expect-diagnostic:
    p3 = s.to_one; // expect-diagnostic:
    p1 = &s.f; // expect-diagnostic:
    return give(p1) == p0;
}
