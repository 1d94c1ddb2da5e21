#include <upc.h>
shared [2] int array[9 * THREADS];
