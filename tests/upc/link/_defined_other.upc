#include <upc.h>
shared int x = 2;
