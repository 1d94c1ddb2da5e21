shared int part[THREADS];
#include "_part_of_part.c"
static int part_function(void) { return part[MYTHREAD] + inner_part; }
