/* A loop that a pragma is about stays as it is, and no read goes before the pragma. */
shared int a[64 * THREADS];
int sum(int n)
{
    int s = 0;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        s += a[i] + a[i + 1];
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
