/* The thread's own iterations of a upc_forall: every THREADS-th, rows, blocks. */
shared double c[64 * THREADS], d[64 * THREADS];
shared [64] double a[64 * THREADS];
shared [8] double rows[9 * THREADS][8];
double f(double);

void turns(int n) {
  int i;
  upc_forall (i = 0; i < n; i++; i + 1) c[i + 1] = f(i);
}

void blocks(int n) {
  int i;
  upc_forall (i = 0; i < n; i++; &a[i + 3]) a[i + 3] = f(i);
}

void of_rows(int n) {
  int i, j;
  upc_forall (i = 0; i < n; i++; &rows[i][0])
    for (j = 0; j < 8; j++) rows[i][j] = 0;
}

/* Left: inside another, no affinity, no count, a jump out of it. */
void left(int n) {
  int i, j;
  upc_forall (i = 0; i < n; i++; &a[i]) {
    upc_forall (j = 0; j < n; j++; &c[j]) c[j] = f(j);
  }
  upc_forall (i = 0; i < n; i++; continue) f(i);
  upc_forall (i = 0; i < n; i += 2; &c[i]) c[i] = f(i);
  upc_forall (i = 0; i < n; i++; &c[2 * i]) c[i] = f(i);
}
