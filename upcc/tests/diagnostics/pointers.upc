// dynamic THREADS
struct s { int m; int bits : 3; struct t *n; };
struct t;
shared int x; shared [] int xi; shared [2] int x2[2*THREADS]; shared struct s g; shared [*] int star[4*THREADS];
int y, *p; shared int *p1; shared [] int *pi; shared [2] int *p2; shared void *pv; shared struct t *pt; void *v;
void take(shared int *q);
shared int *give(void) { return 1; }
int *local(void) { return &x; }
int * shared sp = &y;
void f(void)
{
    p1 = &y; p1 = (shared int *)&y; p1 = (shared int *)1; p1 = 1; take(2);
    p1 = 0; p1 = (void *)0; p1 = pv; pv = p2;
    p = p1; int *q = &x; p = (int *)p1; y = p1; y = (int)p1;
    p1 = pi; p1 = p2; p2 = x2; p1 = star; p1 = &g.m; pi = &g.m; take(p2); p1 = (shared int *)p2;
    p1 == p; p1 - p; p1 < p; p1 == 0; p1 == y;
    p1 == p2; pi > p1; p2 == pi; pv == p2;
    pv < pv; pt > pt; pv + 1; pv++; *pv; pv[0]; pt++; v + 1; v++; v - v;
    &g.bits; &THREADS; MYTHREAD = 1; &p1[3];
    y ? p1 : p; y ? p1 : p2; y ? p1 : 0; y ? p1 : pv;
    p1 - p2; p1 + p1; p1 += 1.5;
    g.none = 1; p1->m = 1; g.n->m = 1; x.m; y->m;
}
