#include <stdlib.h>
void c_exit(int status) { exit(status); }
