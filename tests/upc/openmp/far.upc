// OpenMP in the threads of UPC, which share no memory with each other.
// threads: 1 2 3
// flags: -fopenmp
// env: GASNET_NEIGHBORHOOD=off
#include "_statements.uph"
