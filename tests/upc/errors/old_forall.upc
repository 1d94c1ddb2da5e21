#include <upc.h>
int main(void)
{
    int i;
    forall (i = 0; i < 10; i++; i) // expect-error:
        ;
    return 0;
}
