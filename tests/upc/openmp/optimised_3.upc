// OpenMP in the threads of UPC, with -O3.
// threads: 1 2 3
// flags: -fopenmp -O3
#include "_statements.uph"
