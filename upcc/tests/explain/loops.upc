shared [40] long a[40 * THREADS], b[40 * THREADS];
shared [40] struct pair { long first, second; } pairs[40 * THREADS];
shared [4] long short_blocks[40 * THREADS];
shared long cyclic[40 * THREADS], runs[9][40 * THREADS];
strict shared [40] long careful[40 * THREADS];
volatile shared [40] long watched[40 * THREADS];
shared long total;
long work(long x);
long *moving;
static long table[100];
static int order[100];

/* Nothing remains. */
void made_fast(long n)
{
    upc_forall (long i = 0; i < n; i++; &a[i])
        a[i] = i;
    for (long i = 0; i < n; i++)
        a[i] = b[i];
    for (long i = 0; i < n; i++)
        table[i % 100] += cyclic[order[i]];
}

long outside(long i)
{
    a[i] = 1;
    return a[i];
}

long together(long i)
{
    long x = a[i], y = b[i];
    return x * y + careful[i];
}

void calls(long n)
{
    for (long i = 0; i < n; i++)
        a[i] = work(i);
}

void bounds(long n)
{
    for (long i = 0; i < n; i++)
        n -= a[i];
}

void variable(long n)
{
    for (long i = 0; i < n; i++)
        i += a[i];
}

void backwards(long n)
{
    for (long i = n - 1; i >= 0; i--)
        a[i] = 0;
    while (n > 0 && b[n])
        n--;
    do
        cyclic[n]++;
    while (b[n++]);
}

void early(long n)
{
    for (long i = 0; i < n; i++)
        if (a[i] > 3)
            break;
    for (long i = 0; i < n; i++)
        if (a[i] > 3)
            return;
}

void outer(long n)
{
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        for (long j = 0; j < n; j++)
            table[j] += b[j];
    }
}

void astray(long n)
{
    for (long i = 0; i < n; i++)
        a[(i * i) % n] = 0;
    for (long i = 0; i < n; i++)
        b[i] = cyclic[b[i]];
}

void sometimes(long n)
{
    for (long i = 0; i < n; i++)
        if (i % 3)
            a[i] = 0;
    for (long i = 0; i < n; i++) {
        if (i % 3)
            continue;
        a[i] = 0;
    }
    for (long i = 0; i < n; i++)
        pairs[i].first = i;
}

void same(long n)
{
    for (long i = 0; i < n; i++)
        a[i] = a[i + 1];
    for (long i = 0; i < n; i++) {
        a[i] = b[i];
        total = i;
        a[n - i] = 0;
    }
    for (long i = 0; i < n; i++)
        *moving++ = a[i];
}

void many(long n)
{
    for (long i = 0; i < n; i++)
        table[i % 100] = runs[0][i] + runs[1][i] + runs[2][i] + runs[3][i] + runs[4][i] + runs[5][i] + runs[6][i]
            + runs[7][i] + runs[8][i];
}

void watchful(long n)
{
    for (long i = 0; i < n; i++)
        a[i] = careful[i];
    for (long i = 0; i < n; i++)
        a[i] = watched[i];
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        upc_fence;
    }
    for (long i = 0; i < n; i++) {
#pragma GCC unroll 4
        a[i] = 0;
    }
    for (long i = 0; i < n; i++)
        table[i % 100] = ({ a[i]; });
}

void shared_out(long n)
{
    upc_forall (long i = 0; i < n; i++; a[i])
        b[i] = 0;
    upc_forall (long i = 0; i < n; i += 2; &a[i])
        b[i] = 0;
    upc_forall (long i = 0; i < n; i++; continue)
        b[i] = 0;
    upc_forall (long i = 0; i < n; i++; i)
        upc_forall (long j = 0; j < n; j++; &a[j])
            b[i] = a[j];
    upc_forall (long i = 0, k = 0; i < n; i++; &a[i])
        b[i + k] = 0;
    upc_forall (long i = 0; i < n; i++; &a[i])
        a[i] = b[i + 41] + work(b[n - i]);
}
