// A function that was called without a declaration cannot turn out to be something else than `extern int f()`.
int a(int n, ...); // a declaration is enough
void nothing(int);
int main(void)
{
    nobody_defines_this(1); // expect-warning: nobody_defines_this
    hidden(1); // expect-warning: hidden
    real(1); // expect-warning: real
    narrow(1); // expect-warning: narrow
    nothing(a(1, 2));
    nothin(1); // expect-warning: did you mean `nothing`?
    fine(1, 2.0); // expect-warning: fine
    empty(); // expect-warning: empty
    return 0;
}
static int hidden(int i) { return i; } // expect-error: hidden
double real(int i) { return i; } // expect-error: real
int narrow(short i) { return i; } // expect-error: narrow
int fine(int i, double d) { return i + (int)d; }
void empty(void) {} // expect-warning: empty
