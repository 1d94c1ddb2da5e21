shared [8] double g[4 * THREADS][8];
shared int x, v[10 * THREADS];
strict shared long s;
shared [4] struct pair { int a; struct { short low, high : 5; } in; shared [] char *name; } pairs[4 * THREADS];
shared [] int *local;
shared [3] int *blocked;
shared [2] int (*rows)[6];
shared _Complex double z;
volatile shared int noisy;

double walk(long r, long c)
{
    double sum = g[r + 1][c] + g[r][0] + x;
    g[2][c] += sum;
    v[c - 1]++;
    return sum + __imag__ z;
}

void pointers(int i, int n)
{
    *local = local[i];
    *(blocked + i) = *(blocked - i);
    rows[i][n] = (*rows)[n];
    *(shared [] int *)(blocked + n) = *(n ? local : &local[i]);
    *(n, local) = (*(local ?: (shared [] int *)0));
}

void others(int i)
{
    pairs[i].a = pairs->in.low;
    pairs[i].in.high = 3;
    pairs[i].name[2] = 'x';
    s = noisy;
    noisy = 1;
}
