/* Loops with iterations that do not depend on each other. */
shared [64] double a[64 * THREADS], b[64 * THREADS], *p;
shared double c[64 * THREADS];
shared [] float large[1 << 24];

void add(int n) {
  for (int i = 1; i < n; i++) a[i] = b[i - 1] + b[i + 1];
}

void strips(int n) {
  for (int i = 0; i < n; i++) large[i] = 2 * large[i];
}

void own(int n) {
  int i;
  upc_forall (i = 0; i < n; i++; &c[i]) c[i] += 1;
}

/* Left: the same array at another place, what may be the same memory, a sum. */
double left(int n) {
  double x = 0;
  for (int i = 1; i < n; i++) a[i] = a[i - 1];
  for (int i = 0; i < n; i++) a[i] = p[i];
  for (int i = 0; i < n; i++) x += a[i];
  return x;
}
