// Files named .c are UPC source too.
// files: _dot_c_part.c
// static: yes
// threads: 1 3
#include "check.h"
extern shared [2] int from_c_file[4 * THREADS];
int fill(void);
int main(void)
{
    CHECK_EQ(fill(), 4);
    upc_barrier;
    for (int i = 0; i < 4 * THREADS; i++)
        CHECK_EQ(from_c_file[i], i / 2 % THREADS);
    PASS();
}
