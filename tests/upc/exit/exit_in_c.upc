// exit from a plain C object is a normal end with that status; atexit and stdio work.
// threads: 1 2 3
// object: _exit_in_c_part.c
// expect-exit: 5
// expect: from atexit
// expect: unfinished line
#include <upc.h>
#include <stdio.h>

void c_exit(int status);
static void at_exit(void) { printf("from atexit\n"); }

int main(void)
{
    atexit(at_exit);
    printf("unfinished line");
    fflush(stdout);
    printf("\n");
    upc_barrier;
    if (MYTHREAD == 0)
        c_exit(5);
    return 0;
}
