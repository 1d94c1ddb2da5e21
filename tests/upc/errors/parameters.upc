// No shared parameters, no shared results.
#include <upc.h>
int f(shared int x); // expect-error:
int g(int *shared p) // expect-error:
{
    return *p;
}
shared int h(void); // expect-error:
shared char *shared k(void); // expect-error:
int fine(shared int a[], shared int *b);
shared int *fine_too(void);
int main(void) { return 0; }
