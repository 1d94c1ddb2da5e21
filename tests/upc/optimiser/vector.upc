// Loops that the optimiser changes, with -fno-upc-vector.
// threads: 1 3 4
// flags: -fno-upc-vector
#include <upc_relaxed.h>
#include "check.h"

#define N 200
#define ROW 24

#define BLOCK 1
#include "_loops.uph"
#define BLOCK 5
#include "_loops.uph"
#define BLOCK 48
#include "_loops.uph"

int main(void)
{
    loops1();
    loops5();
    loops48();
    PASS();
}
