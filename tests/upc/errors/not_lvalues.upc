// THREADS and MYTHREAD are values.
// static: no
#include <upc.h>
int main(void)
{
    MYTHREAD = 1; // expect-error:
    THREADS++; // expect-error:
    int *p = &MYTHREAD; // expect-error:
    p = &THREADS; // expect-error:
    MYTHREAD += 1; // expect-error:
    --THREADS; // expect-error:
    return p != 0;
}
