#include <upc.h>
shared [2] int from_c_file[4 * THREADS];
int fill(void)
{
    int count = 0;
    upc_forall (int i = 0; i < 4 * THREADS; i++; &from_c_file[i]) {
        from_c_file[i] = MYTHREAD;
        count++;
    }
    return count;
}
