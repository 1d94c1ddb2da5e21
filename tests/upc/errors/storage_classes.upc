// Storage classes that file scope does not know.
register int f(void) { return 0; } // expect-error: register
auto int i; // expect-error: auto
int main(void) { return f() + i; }
