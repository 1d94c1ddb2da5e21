// -Wupc
typedef unsigned long size_t; void *malloc(size_t); shared void *upc_all_alloc(size_t, size_t); shared void *upc_alloc(size_t);
shared int a[10*THREADS]; shared [4] int b[8*THREADS]; int private_object, *shared pointer = &private_object, *shared null = 0;
char *shared text = "text"; int (*shared function)(void);
int f(int n) {
    upc_forall (int i = 0; i < n; i++; i) { upc_barrier; if (i == 3) break; if (i == 4) return 1; if (i == 5) goto out; }
    upc_forall (int i = 0; i < n; i++; &a[i]) { for (;;) break; switch (i) { case 1: break; } goto inner; inner: a[i] = 0; }
    upc_forall (int i = 0; i < n; i++; i) upc_forall (int j = 0; j < n; j++; j) a[j] = 1;
    upc_forall (int i = 0; i < n; i++; continue) { upc_barrier; upc_forall (int j = 0; j < n; j++; j) a[j] = 1; break; }
    upc_forall (int i = 0; i < n; i++; 3) a[i] = 2;
    upc_forall (int i = 0; i < n; i++; i) { shared void *p = upc_all_alloc(1, 8); upc_all_alloc(1, 9); }
out:
    if (MYTHREAD == 0) upc_barrier;
    if (MYTHREAD == 0) upc_barrier 1; else upc_barrier 2;
    if (MYTHREAD) { upc_notify; } else { upc_notify; upc_wait; }
    if (n) upc_barrier;
    if (a[MYTHREAD] == THREADS - 1) upc_all_alloc(1, 2);
    upc_notify; a[0] = 1; upc_barrier; upc_all_alloc(1, 1); upc_notify; upc_wait;
    pointer = &n; pointer = malloc(4); null = 0; text = "other"; function = 0; pointer = (int *)&a[MYTHREAD];
    shared [2] int *q = (shared [2] int *)&b[1]; shared int *r = (shared int *)q; shared [] int *s = (shared [] int *)b;
    return r == 0 && s == 0;
}
