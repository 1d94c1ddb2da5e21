// Loops that look as if their iterations could be computed together, or their elements brought beforehand, and must not be.
// threads: 1 2 3 5
// static: some
#include <upc_relaxed.h>
#include "check.h"

#define B 40
#define N (2 * B * THREADS)

shared [B] long a[N], c[N], d[N];
shared [B] int narrow[N];
shared long e[N], f[N];
shared [B] double x[N];
shared long total;
struct pair { long first, second; };
shared [B] struct pair pairs[N];

static long square(long i)
{
    return i * i;
}

static void fill(void)
{
    upc_barrier;
    upc_forall (long i = 0; i < N; i++; &a[i]) {
        a[i] = 3 * i;
        c[i] = i;
        d[i] = 7;
        x[i] = i / 2.0;
    }
    upc_forall (long i = 0; i < N; i++; &e[i])
        e[i] = f[i] = i;
    upc_barrier;
}

int main(void)
{
    fill();
    /* Each iteration reads what the one before wrote, in the same block; and far elements in between. */
    upc_forall (long i = 0; i < N - B; i++; &a[i])
        if (i % B)
            a[i] = a[i - 1] + c[i + B];
    upc_barrier;
    for (long i = 0, sum = 0; i < N - B; i++) {
        sum = i % B ? sum + i + B : 3 * i;
        CHECK_EQ(a[i], sum);
    }
    fill();
    upc_forall (long i = 1; i < N - B; i++; &a[i])
        a[i] = a[(i - 1)] + c[i + B];
    upc_barrier;
    /* What the first of a block reads depends on the order of threads; the others do not. */
    for (long i = 1; i < N - B; i++)
        if (i % B)
            CHECK_EQ(a[i], a[i - 1] + i + B);
    fill();
    /* One thread, whole array: forwards it hands on, and backwards it does not. */
    if (MYTHREAD == 0) {
        for (long i = 1; i < N; i++)
            a[i] = a[i - 1] + 1;
        for (long i = 0; i < N - 1; i++)
            c[i] = c[i + 1];
    }
    upc_barrier;
    for (long i = 0; i < N; i++) {
        CHECK_EQ(a[i], i);
        CHECK_EQ(c[i], i < N - 1 ? i + 1 : i);
    }
    CHECKED("carried dependences");
    fill();
    /* Pointers that may point to the same. */
    shared [B] long *p = a, *q = a;
    if (MYTHREAD == THREADS - 1) {
        for (long i = 0; i < N - 1; i++)
            p[i + 1] = q[i] + 1;
        shared [B] long *r = c + 2;
        for (long i = 0; i < N - 2; i++)
            r[i] = c[i];
    }
    upc_barrier;
    for (long i = 0; i < N; i++) {
        CHECK_EQ(a[i], i);
        CHECK_EQ(c[i], i % 2);
    }
    CHECKED("pointers to the same");
    fill();
    /* Private pointers into what is shared. */
    {
        long *own = (long *)&a[MYTHREAD * B];
        long *mine = (long *)&c[MYTHREAD * B];
        for (long i = 1; i < B; i++)
            a[MYTHREAD * B + i] = own[i - 1] + 1;
        for (long i = 1; i < B; i++)
            mine[i] = c[MYTHREAD * B + i - 1] + 2;
        long sum = 0;
        for (long i = 0; i < B; i++) {
            d[MYTHREAD * B + i] = i;
            sum += *(long *)&d[MYTHREAD * B + i];
        }
        CHECK_EQ(sum, B * (B - 1) / 2);
    }
    upc_barrier;
    for (long i = 0; i < B * THREADS; i++) {
        CHECK_EQ(a[i], 3 * (i / B * B) + i % B);
        CHECK_EQ(c[i], i / B * B + 2 * (i % B));
    }
    CHECKED("private pointers");
    fill();
    /* Variables that go from one iteration to the next, values of the loop variable, types of several sizes. */
    if (MYTHREAD == 0) {
        long last = 5;
        for (int i = 0; i < N; i++) {
            a[i] = last;
            last = c[i];
            narrow[i] = (int)(d[i] + i);
        }
        CHECK_EQ(last, N - 1);
        double scale = 1;
        for (unsigned i = 0; i < (unsigned)N; i++) {
            x[i] = x[i] * scale + i;
            scale = 2;
        }
    }
    upc_barrier;
    for (long i = 0; i < N; i++) {
        CHECK_EQ(a[i], i ? i - 1 : 5);
        CHECK_EQ(narrow[i], 7 + i);
        CHECK_EQ(x[i], i ? 2 * (i / 2.0) + i : 0);
    }
    CHECKED("scalars across iterations");
    fill();
    /* Shared scalars, elements found by others, parts of structures, calls, leaving the loop. */
    if (MYTHREAD == THREADS - 1) {
        total = 0;
        for (long i = 0; i < N; i++) {
            a[i] = total;
            total += i;
        }
        for (long i = 0; i < N; i++)
            c[N - 1 - i] = c[i] + 1;
        for (long i = 0; i < N; i++)
            d[i] = square(i);
        for (long i = 0; i < N; i++) {
            pairs[i].first = i;
            pairs[i].second = pairs[i].first + 1;
        }
        long i;
        for (i = 0; i < N; i++) {
            x[i] = -1;
            if (i == N / 2 + 3)
                break;
        }
        CHECK_EQ(i, N / 2 + 3);
        for (i = 0; i < N; i++) {
            if (i == B + 1)
                goto out;
            narrow[i] = -(int)i;
        }
    out:
        CHECK_EQ(i, B + 1);
        /* The bound and the variable change on the way. */
        long end = N;
        for (i = 0; i < end; i++) {
            e[i] = -1;
            if (i == 9)
                end = 20;
        }
        CHECK_EQ(i, 20);
        for (i = 0; i < N; i++) {
            f[i] = -2;
            i++;
        }
    }
    upc_barrier;
    for (long i = 0; i < N; i++) {
        CHECK_EQ(a[i], i * (i - 1) / 2);
        CHECK_EQ(c[i], i < N / 2 ? i + 2 : N - i);
        CHECK_EQ(d[i], i * i);
        CHECK_EQ(pairs[i].second, i + 1);
        CHECK_EQ(x[i], i <= N / 2 + 3 ? -1 : i / 2.0);
        CHECK_EQ(e[i], i < 20 ? -1 : i);
        CHECK_EQ(f[i], i % 2 ? i : -2);
        if (i <= B)
            CHECK_EQ(narrow[i], -i);
    }
    CHECKED("bodies with calls and jumps");
    fill();
    /* A strict access in the loop keeps its place among the others. */
    if (MYTHREAD == 0) {
        strict shared [B] long *s = (strict shared [B] long *)a;
        for (long i = 0; i < N - 1; i++) {
            s[i] = -i;
            c[i] = a[i] + d[i + 1];
        }
    }
    upc_barrier;
    for (long i = 0; i < N - 1; i++)
        CHECK_EQ(c[i], 7 - i);
    CHECKED("strict accesses");
    PASS();
}
