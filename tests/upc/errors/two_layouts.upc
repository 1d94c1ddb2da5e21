// One declaration, two layouts.
#include <upc.h>
typedef shared [2] int two;
typedef shared int one;
shared [2] shared [3] int x[6 * THREADS]; // expect-error:
shared [3] two y[6 * THREADS]; // expect-error:
shared [2] one z[6 * THREADS]; // expect-error:
shared [2] two fine[6 * THREADS];
const volatile const two fine_too[6 * THREADS];
int main(void) { return 0; }
