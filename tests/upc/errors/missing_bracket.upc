#include <upc.h>
shared [3 int a[THREADS]; // expect-error:
int main(void) { return 0; }
