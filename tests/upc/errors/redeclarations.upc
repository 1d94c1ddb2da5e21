// The layout is part of the type.
#include <upc.h>
struct s;
void f(shared [] struct s *p);
void f(shared struct s *p) {} // expect-error:
extern shared [2] int a[4 * THREADS];
shared [4] int a[4 * THREADS]; // expect-error:
extern shared int x;
int x; // expect-error:
extern shared [3] int *p;
extern shared [3] int *p;
int main(void) { return 0; }
