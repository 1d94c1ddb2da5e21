// GASNET_BACKTRACE: an error of the runtime shows where it came from.
// threads: 1
// static: no
// flags: -g
// env: GASNET_BACKTRACE=1
// expect-runtime: notify
// expect-once: Backtrace of thread 0
// expect-once: at_fault
#include <upc.h>
__attribute__((noinline)) void at_fault(void)
{
    upc_notify;
    upc_notify;
    __asm__("");
}
int main(void)
{
    at_fault();
    return 0;
}
