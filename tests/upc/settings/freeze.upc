// UPC_FREEZE: the thread waits before main, for a debugger or SIGCONT.
// threads: 2
// static: no
// env: UPC_FREEZE=0
// expect-once: UPC Runtime: thread 0 is frozen
#include "check.h"
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    pid_t waker = 0;
    if (MYTHREAD == 1) {
        waker = fork();
        if (waker == 0) {
            // Those of the process group that are not frozen take no notice.
            for (int i = 0; i < 3000 && getppid() != 1; i++) {
                usleep(20000);
                kill(0, SIGCONT);
            }
            _exit(0);
        }
        CHECK(waker > 0);
    }
    upc_barrier;
    if (waker > 0) {
        kill(waker, SIGKILL);
        waitpid(waker, NULL, 0);
    }
    PASS();
}
