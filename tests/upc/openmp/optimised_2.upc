// OpenMP in the threads of UPC, with -O2.
// threads: 1 2 3
// flags: -fopenmp -O2
#include "_statements.uph"
