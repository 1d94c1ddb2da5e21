// threads: 4
shared int a[10]; shared int b[THREADS][THREADS]; shared [] int c[THREADS]; shared [THREADS*2] int d[10 + THREADS]; int e[THREADS];
shared [*] int f[4000004 * 4]; shared int g[-1]; int t = THREADS; int m = MYTHREAD;
void h(int i) { switch (i) { case sizeof(a): case THREADS: case 4: ; } }
