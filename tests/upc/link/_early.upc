/* What _early.trans.c has of UPC. */
#include <upc.h>

shared int in_program[THREADS], in_all;
void fill(void)
{
    in_program[MYTHREAD] = MYTHREAD;
    upc_barrier;
}
