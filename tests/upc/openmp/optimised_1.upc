// OpenMP in the threads of UPC, with -O1.
// threads: 1 2 3
// flags: -fopenmp -O1
#include "_statements.uph"
