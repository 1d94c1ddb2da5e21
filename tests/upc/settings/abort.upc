// UPC_ABORT: an error of the runtime ends the thread so that it leaves a core file, if those are wanted.
// threads: 1 2
// static: no
// env: UPC_ABORT=yes
// expect-runtime: notify
// expect-exit: 134
#include <upc.h>
#include <sys/resource.h>
int main(void)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    upc_notify;
    upc_notify;
    return 0;
}
