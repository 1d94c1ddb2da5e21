// Objects of types that are not complete.
#include <upc.h>
struct undefined a[8]; // expect-error:
shared struct undefined b[THREADS]; // expect-error:
typedef struct undefined alias;
alias c[4]; // expect-error:
union unknown d; // expect-error:
upc_lock_t flag; // expect-error:
int main(void)
{
    struct undefined e; // expect-error:
    return 0;
}
