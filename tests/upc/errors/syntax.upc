// The parser goes on after an error.
#include <upc.h>
int f(void)
{
    int x = ; // expect-error:
    return x;
}
int g(void)
{
    if (1
        return 2; // expect-error:
    return 3;
}
int h(void)
{
    upc_forall (int i = 0; i < 3; i++) // expect-error:
        ;
    return 4;
}
int main(void) { return 0; }
