// dynamic THREADS
struct undefined; shared int a[4*THREADS]; shared [] int b[4]; int c; shared int *p; int *shared sp; void fn(void);
extern int later[];
unsigned long s[] = { upc_localsizeof(a), upc_blocksizeof(b), upc_elemsizeof(shared [3] char[6]), sizeof(b) };
void f(shared void *v)
{
    upc_blocksizeof(c); upc_localsizeof(int); upc_elemsizeof(p); upc_blocksizeof(fn); upc_localsizeof(*v);
    upc_localsizeof(sp); upc_localsizeof(sp + 1); upc_blocksizeof(shared struct undefined);
    sizeof(void); sizeof *v; sizeof(fn); sizeof(struct undefined); sizeof(later); sizeof v;
    switch (c) { case sizeof(a): case sizeof(b): case 16: case upc_localsizeof(a): ; }
}
