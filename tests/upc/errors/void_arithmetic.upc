// Arithmetic on plain void pointers is an error in UPC.
#include <upc.h>
int main(void)
{
    char c[4];
    void *p = c;
    p = p + 1; // expect-error:
    p++; // expect-error:
    return p == c;
}
