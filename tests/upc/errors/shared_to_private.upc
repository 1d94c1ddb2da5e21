// A pointer-to-shared becomes private only by a cast.
#include <upc.h>
shared int a[THREADS];
shared [] int *p;
static void take(int *q) { (void)q; }
int main(void)
{
    int *q = (int *)&a[MYTHREAD];
    q = &a[MYTHREAD]; // expect-diagnostic:
    int *r = p; // expect-diagnostic:
    take(p); // expect-diagnostic:
    return q == r;
}
