// gasnett_fatalerror ends the job with the message it makes of its arguments.
// threads: 1 3
// expect-runtime: no 42 at all
#include <upc.h>

int main(void)
{
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        gasnett_fatalerror("no %d %s", 42, "at all");
    upc_barrier;
    return 0;
}
