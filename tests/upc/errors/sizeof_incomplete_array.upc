#include <upc.h>
extern int x[];
int early(void)
{
    return sizeof(x); // expect-diagnostic:
}
int x[5];
int main(void) { return early(); }
