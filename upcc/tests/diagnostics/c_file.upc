// dynamic THREADS
# 1 "plain.c"
float MYTHREAD; int foo(int shared) { return shared + MYTHREAD; }
int main(void) { int strict = foo(5); strict = undeclared_function(strict); return strict; }
# 1 "upc.c"
shared int x; int g(void) { return MYTHREAD + THREADS; } int h(void) { int shared; return 0; }
