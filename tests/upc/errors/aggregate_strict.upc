// -fupc-aggregate where accesses are strict.
// flags: -fupc-aggregate
#include <upc.h>
#pragma upc relaxed
#pragma upc strict // expect-diagnostic:
shared int x;
int main(void)
{
#pragma upc strict
    x = 1;
    return 0;
}
