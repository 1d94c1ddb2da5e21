// main may end without return.
// expect: done
#include <upc.h>
#include <stdio.h>

int main()
{
    if (MYTHREAD == 0)
        puts("done");
}
