// what UPC leaves undefined
typedef struct file FILE; extern FILE *stream; int printf(const char *, ...), fprintf(FILE *, const char *, ...), sscanf(const char *, const char *, ...);
shared int a[10*THREADS]; shared [] char *text; shared char *spread; struct { shared [] char *name; } record;
int f(int n) {
    upc_forall (int i = 0; i < n; i++; i) { if (i == 3) break; if (i == 4) return 1; if (i == 5) goto out; }
    upc_forall (int i = 0; i < n; i++; &a[i]) { for (;;) break; switch (i) { case 1: break; } goto inner; inner: a[i] = 0; continue; }
    upc_forall (int i = 0; i < n; i++; continue) { if (i) break; while (1) { upc_forall (int j = 0; j < n; j++; j) goto next; next: break; } }
    for (int i = 0; i < n; i++) { upc_forall (int j = 0; j < n; j++; j) a[j] = 1; if (i) break; if (a[i]) goto out; }
    if (n) goto middle;
    switch (n) { case 1: upc_forall (int i = 0; i < n; i++; i) { case 2: middle: a[i] = 1; } }
    int sub(void) { upc_forall (int i = 0; i < n; i++; i) return ({ return 2; 3; }); return 4; }
out:
    return sub();
}
void g(int n, const char *plain) {
    printf("%s\n", text); printf("%d: %s and " "%10s, %p\n", n, spread, record.name, text); printf("%*d %p %lx", 3, n, text, n); printf(plain, text);
    fprintf(stream, "%-*s%%%c", n, text, 3); fprintf(stream, "%n", (shared int *)a); sscanf(plain, "%d %*d %[a-z] %s", &a[1], plain, text);
    printf("%s %s", (char *)text, plain); printf("%2$s %1$d", n, text); (printf)("%s", text);
}
