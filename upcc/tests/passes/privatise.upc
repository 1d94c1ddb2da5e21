/* Elements that are the thread's own, and runs that are near, through pointers. */
shared double c[64 * THREADS], d[64 * THREADS];
shared [64] double a[64 * THREADS], *p;
double f(double);

void beside(int n) {
  int i;
  upc_forall (i = 0; i < n; i++; &c[i]) c[i] = f(d[i]) + c[i + 1];
}

void memory(int n) {
  int i;
  upc_forall (i = 0; i < n; i++; &a[i]) a[i] = 2 * a[i];
}

double runs(int n) {
  double x = 0;
  for (int i = 0; i < n; i++) x += f(p[i]);
  return x;
}
