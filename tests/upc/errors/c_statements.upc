// Constraints of C on statements.
// static: no
struct s {
    int a;
} s;
int n;
double d;
void nothing(void)
{
    return 1; // expect-warning:
}
int test(int argc)
{
    // rule: labels
    goto nowhere; // expect-error: nowhere
here:
here: // expect-error: here
    case 1: // expect-error:
    default: // expect-error:
    ;
    // rule: switch
    switch (d) { // expect-error:
    }
    switch (n) {
    case 1:
    case 1: // expect-error:
    case n: // expect-error:
    case 1.5: // expect-error:
    default:
    default: // expect-error:
        break;
    }
    switch (n) {
        int sized[argc];
    case 2: // expect-error: sized
        break;
    }
    // rule: conditions
    if (s) // expect-error:
        ;
    while (s) // expect-error:
        ;
    do
        ;
    while (s); // expect-error:
    for (; s;) // expect-error:
        ;
    // rule: jumps
    break; // expect-error:
    continue; // expect-error:
    goto inside; // expect-error: vla
    {
        int vla[argc];
    inside:
        vla[0] = 1;
    }
    goto *n; // expect-error:
    goto expression; // expect-error: statement expression
    n = ({
    expression:
        3;
    });
    // rule: for
    for (static int i = 0;;) // expect-error:
        ;
    for (typedef int t;;) // expect-error:
        ;
    for (int i, f(void);;) // expect-error:
        ;
    for (struct tag { int a; } x;;) // expect-error:
        ;
    // rule: return
    if (n)
        return; // expect-warning:
    return s; // expect-error:
    // rule: else
    else // expect-error:
        n = 1;
}
int missing_semicolon(void)
{
    n = 1 // expect-error:
    n = 2;
    if n // expect-error:
        n = 3;
    return n;
}
int main(void) { return 0; }
