// dynamic THREADS
#pragma upc c_code
int shared, strict, THREADS; int f(int relaxed) { return shared + relaxed; }
#pragma upc upc_code
shared int x;
# 1 "plain.h" 1
int shared; struct q { int strict; }; extern int barrier(int shared[], int relaxed);
# 1 "upc.h" 1
extern shared int y;
# 7 "c_mode.upc" 2
int g(void) { return x + y; }
#pragma upc start_upc_only
#pragma upc c_code
shared int z;
