// UPC_FREEZE: the thread waits before main, for a debugger or SIGCONT.
// threads: 2
// static: no
// env: UPC_FREEZE=0
// expect-once: UPC Runtime: thread 0 is frozen
#include "check.h"
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

strict shared int process, running;

int main(void)
{
    if (MYTHREAD == 0) {
        running = 1;
    } else {
        // All processes of the job have one parent or are its child; those that are not frozen take no notice.
        usleep(300000);
        CHECK_EQ(running, 0);
        while (!running) {
            kill(0, SIGCONT);
            usleep(20000);
        }
    }
    upc_barrier;
    PASS();
}
