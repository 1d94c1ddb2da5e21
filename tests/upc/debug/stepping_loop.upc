// gdb steps through loops over shared arrays by their lines, the variable counting along.
// threads: 1
// static: no
// flags: -g -O0
// gdb: break sweep
// gdb: run
// gdb: next
// gdb: next
// gdb: next
// gdb: next
// gdb: print i + 1000
// gdb: tbreak 47
// gdb: continue
// gdb: next
// gdb: next
// gdb: print i + 2000
// gdb: tbreak 50
// gdb: continue
// gdb: print x + 3000
// gdb: finish
// gdb: continue
// expect: long sum = 0;
// expect: for (long i = 1; i < n; i++)
// expect: a[i] = b[i - 1] + i;
// expect: = 1002
// expect: upc_forall (long i = 0; i < n; i++; &b[i])
// expect: sum += b[i];
// expect: = 2001
// expect: sum += x;
// expect: = 3000
// expect: Value returned is $4 = 551
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
