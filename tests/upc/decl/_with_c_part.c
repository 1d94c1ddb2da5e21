int c_variable;
int c_function(int x) { return x * x; }
