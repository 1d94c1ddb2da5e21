// A thread that has called exit still serves its shared data until all are done.
// threads: 2 3 4 8
// expect: sum is right
// expect: thread 1 said goodbye
#include <upc.h>
#include <stdio.h>
#include <unistd.h>

shared int a[10 * THREADS];
upc_lock_t *shared lock;

static void leave(void)
{
    if (MYTHREAD == 1)
        printf("thread 1 said goodbye\n");
    exit(0);
}

int main(void)
{
    if (MYTHREAD == 1)
        lock = upc_global_lock_alloc();
    upc_forall (int i = 0; i < 10 * THREADS; i++; &a[i])
        a[i] = i;
    upc_barrier;
    if (MYTHREAD != 0)
        leave();
    usleep(100000);
    long sum = 0;
    upc_lock(lock);
    for (int i = 0; i < 10 * THREADS; i++) {
        a[i]++;
        sum += a[i];
    }
    upc_unlock(lock);
    const long n = 10 * THREADS;
    if (sum == n * (n + 1) / 2)
        printf("sum is right\n");
    return 0;
}
