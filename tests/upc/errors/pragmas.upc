// Malformed and misplaced pragmas.
#include <upc.h>
#pragma upc strict
#pragma upc strict junk // expect-diagnostic:
#pragma upc // expect-diagnostic:
#pragma upc relaxed
int main(void)
{
#pragma upc strict
    int x = 0;
#pragma upc relaxed // expect-diagnostic:
    return x;
}
