// Casts and type names in which `shared` or a layout can mean nothing.
// static: no
#include <upc.h>
shared int x;
shared [4] int a[4 * THREADS];
int main(void)
{
    int i = 3;
    void (*f)(void) = (void (*)(void))&x; // expect-error:
    i = (shared int)i; // expect-diagnostic:
    i += (int)sizeof(shared [*] int); // expect-error:
    i += (int)sizeof(shared [*] int[10 * THREADS]);
    shared int *p = (shared int *)a;
    int *local = (int *)&a[4 * MYTHREAD];
    return i == 0 && f == 0 && p == 0 && local == 0;
}
