// The value of a barrier is a number.
#include <upc.h>
struct s {
    int a;
} s;
static void nothing(void) {}
int main(void)
{
    upc_barrier s; // expect-error:
    upc_notify nothing(); // expect-error:
    upc_wait s; // expect-error:
    upc_barrier s.a;
    return 0;
}
