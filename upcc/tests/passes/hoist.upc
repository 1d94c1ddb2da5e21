/* Nested indices in one walk; reads of what stays. */
shared [8] double g[4 * THREADS][8];
shared [64] double *shared rows_of[9 * THREADS];
shared double t;
double own[64];

double walk(int r, int c) {
  return g[r + 1][c];
}

double once(int n, int k) {
  double x = 0;
  for (int i = 0; i < n; i++) x += rows_of[k][i] * rows_of[k][i + 1] * t;
  return x;
}

/* Left: the pointer changes, something synchronises, not in every iteration. */
double f(double);
double left(int n, int k) {
  double x = 0;
  for (int i = 0; i < n; i++) { x += rows_of[k][i]; k++; }
  for (int i = 0; i < n; i++) x += f(rows_of[k][i]);
  for (int i = 0; i < n; i++) if (i > 3) x += rows_of[k][i];
  return x;
}
