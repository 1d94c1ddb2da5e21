// -Wall
void f(int *p, unsigned *u, const char *s) { p = u; char *t = s; 1 + 2; *p; p == u; 3 / 0; int x; x; f(p, u, s); }
