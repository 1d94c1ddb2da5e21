// The lines of loops that the optimiser cuts into stretches: gdb stops in their bodies, whichever form of them runs.
// threads: 1
// static: no
// flags: -g -O2
// gdb: break sweep
// gdb: run
// gdb: break 33
// gdb: break 36
// gdb: break 39
// gdb: continue
// gdb: delete 2
// gdb: continue
// gdb: delete 3
// gdb: continue
// gdb: delete 4
// gdb: finish
// gdb: continue
// expect: a[i] = b[i - 1] + i;
// expect: sum += b[i];
// expect: sum += x;
// expect: Value returned is $1 = 551
// expect: 551 here
// expect: exited normally
#include <upc_relaxed.h>
#include <stdio.h>

shared [16] long a[64 * THREADS], b[64 * THREADS];

static __attribute__((noinline)) long sweep(long n)
{
    long sum = 0;
    for (long i = 1; i < n; i++)
        a[i] = b[i - 1] + i;

    upc_forall (long i = 0; i < n; i++; &b[i])
        sum += b[i];
    for (long i = 0; i < n; i++) {
        const long x = a[i];
        sum += x;
    }
    return sum;
}

int main(void)
{
    upc_forall (long i = 0; i < 64 * THREADS; i++; &b[i])
        b[i] = i;
    upc_barrier;
    printf("%ld here\n", sweep(20));
    return 0;
}
