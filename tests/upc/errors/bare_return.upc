// A function with a result has to return it.
#include <upc.h>
static int f(void)
{
    return; // expect-diagnostic:
}
int main(void)
{
    f();
    return; // expect-diagnostic:
}
