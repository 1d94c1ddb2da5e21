#include <upc.h>

static shared int base = 41;
static shared int array[THREADS] = {1};
shared int *member_pointer = &base;

int member_sum(void) { return base + array[0]; }
