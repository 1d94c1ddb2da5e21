/* Reads that are under way at the same time (pass split-phase). */
shared double c[64 * THREADS], d[64 * THREADS];
shared int n[64 * THREADS];
double f(double);

double both(int i, int j) {
  return c[i] + d[j];
}

double three(int i, int j) {
  double x = c[i];
  c[3] = x;
  x += d[j];
  return x + n[i];
}

/* Left: the place of the second is not known at the first. */
double place(int i) {
  return c[n[i]];
}

/* A write that may be to it. */
double write(int i, int j) {
  double x = c[i]; d[j] = 1; return x + d[i];
}

/* A call. */
double call(int i, int j) {
  double x = c[i]; f(x); return x + d[j];
}

/* An index that may be another each time it is looked at. */
double index(int i, volatile int *v) {
  return c[i] + d[*v];
}
