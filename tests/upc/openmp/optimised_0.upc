// OpenMP in the threads of UPC, with -O0.
// threads: 1 2 3
// flags: -fopenmp -O0
#include "_statements.uph"
