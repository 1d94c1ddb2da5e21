// -Wupc
struct inner { int deepIn; }; struct kk { int rExt; union { int lExt; }; }; shared [4] int a[4 * THREADS];
int members(struct kk k) { return k.rext + k.lext + k.nothing; }
int calls(void) { printf("%d", 1); return MAX(1, 2) + sqrt(4.0) + CHECKED_SUM(1) + other(1); }
void affinity(void) { upc_forall (int i = 0; i < 4 * THREADS; i++; a[i]) a[i] = i; }
int barriers(int x) {
    upc_barrier
    return x;
}
int values(int x) {
    upc_notify
    x = 2;
    upc_wait
    if (x) return 1;
    upc_barrier &x;
    upc_barrier
}
