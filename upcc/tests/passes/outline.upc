/* Accesses in large functions are calls, but for those in small loops. */
shared double c[64 * THREADS];
shared int n[64 * THREADS];
double f(double);

double small(int i) {
  return c[i];
}

double large(int m) {
  double x = 0, y = 0, z = 0;
  x = f(c[1]); y = f(c[2]); z = f(c[3]); x += f(y) * f(z); y += f(x) * f(z); z += f(x) * f(y);
  x = f(c[4]); y = f(c[5]); z = f(c[6]); x += f(y) * f(z); y += f(x) * f(z); z += f(x) * f(y);
  while (f(x) > 0) x += c[n[m]];
  while (f(x) > 0) {
    while (f(x) > 1) x += c[n[m]];
    x += c[n[m + 1]];
  }
  x = f(c[7]); y = f(c[8]); z = f(c[9]); x += f(y) * f(z); y += f(x) * f(z); z += f(x) * f(y);
  return x + y + z;
}
