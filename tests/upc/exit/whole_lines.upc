// Lines of different threads do not mix, also when written in pieces.
// threads: 1 2 4 8
// expect: <a line of thread 0, number 99>
// expect-exit: 0
#include <upc.h>
#include <stdio.h>

int main(void)
{
    for (int i = 0; i < 100; i++) {
        printf("<a line ");
        printf("of thread %d, ", MYTHREAD);
        printf("number %d>\n", i);
        if (i % 10 == 0)
            fflush(stdout);
    }
    return 0;
}
