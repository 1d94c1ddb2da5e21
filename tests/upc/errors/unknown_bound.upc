// A bound that is not declared is one mistake: nothing is said of THREADS besides.
shared int a[N]; // expect-error: `N` is not declared
shared [4] double b[2 * ROWS][8]; // expect-error: `ROWS` is not declared
int main(void) { return a[0] + (int)b[0][0]; }
