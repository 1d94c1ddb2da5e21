// OpenMP in the threads of UPC, with the larger pointers-to-shared.
// threads: 1 2 3
// flags: -fopenmp -fupc-pts=struct
#include "_statements.uph"
