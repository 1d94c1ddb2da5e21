#include <upc.h>
shared int elsewhere[THREADS];
