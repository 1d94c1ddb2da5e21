// An affinity is an integer, a pointer-to-shared or `continue`.
#include <upc.h>
struct s {
    int a;
} s;
int main(void)
{
    double d = 1;
    int *p = 0;
    upc_forall (int i = 0; i < 3; i++; d) // expect-error:
        ;
    upc_forall (;;; 1.5) // expect-error:
        ;
    upc_forall (int i = 0; i < 3; i++; s) // expect-error:
        ;
    upc_forall (int i = 0; i < 3; i++; p) // expect-error:
        ;
    return 0;
}
