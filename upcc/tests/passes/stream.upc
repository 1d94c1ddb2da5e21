/* Runs of far elements in bulk, other reads gathered (passes coalesce and split-phase). */
shared [64] double a[64 * THREADS], b[64 * THREADS], *p;
shared double c[64 * THREADS];
double own[64];
int index[64];

double sum(int n) {
  double x = 0;
  for (int i = 0; i < n; i++) x += a[i + 1];
  return x;
}

void copy(int n, double *to) {
  for (int i = 0; i < n; i++) to[i] = p[i];
}

void both(int n) {
  for (int i = 0; i < n; i++) if (b[i] > 0) a[i] = b[i]; else a[i] = 0;
}

double gathered(int n) {
  double x = 0;
  for (int i = 0; i < n; i++) x += c[index[i]] * own[i];
  return x;
}

/* Left, or not brought: a call, another loop, elements that not every iteration reads, what may be the same memory. */
double g(double);
double left(int n) {
  double x = 0;
  for (int i = 0; i < n; i++) x += g(a[i]);
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x += a[j];
  for (int i = 0; i < n; i++) if (i > 3) x += a[i];
  for (int i = 0; i < n; i++) p[i] = a[i + 1];
  for (int i = 0; i < n; i++) { if (x > 9) break; x += a[i]; }
  return x;
}
