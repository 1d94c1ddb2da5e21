// A number other than the null pointer constant never becomes a pointer-to-shared.
#include <upc.h>
static void take(shared int *p) { (void)p; }
static shared int *give(void)
{
    return 5; // expect-error:
}
int main(void)
{
    int i = 0;
    shared int *null = 0, *also = (shared int *)0;
    shared int *p = 1; // expect-error:
    p = (shared int *)1; // expect-error:
    p = i; // expect-error:
    take(7); // expect-error:
    return p == null && p == also && give() == 0;
}
