// Parts of a file in which UPC's words are plain names.
// threads: 1 2
#include "check.h"
shared int x[THREADS];
#pragma upc c_code
struct options {
    int shared, strict, relaxed;
};
static int upc_barrier(int upc_forall) { return upc_forall + 1; }
static int use(void)
{
    int upc_notify = 3, MYTHREAD = 4;
    struct options o = {.shared = upc_notify, .strict = MYTHREAD};
    return upc_barrier(o.shared + o.strict);
}
#pragma upc upc_code
int main(void)
{
    x[MYTHREAD] = use();
    upc_barrier;
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ(x[t], 8);
    PASS();
}
