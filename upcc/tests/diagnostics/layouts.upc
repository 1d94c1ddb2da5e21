// dynamic THREADS
shared [0.5] int a1[THREADS];
shared [-3] int a2[THREADS];
shared [THREADS*2] int a3[THREADS];
shared [2000000] int a4[THREADS];
shared [*] int *a5;
shared [*] int (*a6)[10];
typedef shared [*] int a7[THREADS];
extern shared [*] int a8[];
shared [5] void *a9;
shared [2] shared [3] int b1[THREADS];
typedef shared [2] int two;
shared [3] two b2[THREADS];
two const const fine[THREADS];
strict int b3;
strict relaxed shared int b4;
typedef strict shared int st;
relaxed st b5;
struct s { shared int x; char *shared p; shared char *fine; };
union u { shared int y; };
shared int b6[10];
shared int b7[THREADS][THREADS];
shared int b8[10*THREADS + 1];
shared int b9[THREADS*THREADS];
shared [] int c1[THREADS];
shared int (*c2)[THREADS][THREADS];
int c3[THREADS];
shared [3 int c4[THREADS];
shared int ok1[THREADS*(100*20)], ok2[3][(2*4)*THREADS], ok3[1UL*THREADS], ok4[sizeof(int)*THREADS];
shared int f1(void);
void f2(shared int x, shared [3] int fine[], int *shared q);
void f3(int n)
{
    shared int l1;
    int *shared l2;
    shared double *shared l3;
    shared int l4[n];
    static shared int l5[n];
    static shared int fine[THREADS];
    shared int (*p)[n] = 0, (*q)[n][THREADS] = 0;
}
