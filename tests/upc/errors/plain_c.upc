// All errors of a file in one run; errors of plain C are ours too.
#include <upc.h>
struct s {
    int a;
};
int g(int);
int main(void)
{
    int x = undeclared; // expect-error: undeclared
    struct s v;
    x = v; // expect-error:
    v.b = 1; // expect-error: b
    g(); // expect-error: argument
    g(1, 2); // expect-error: argument
    x = "text" * 2; // expect-error:
    goto nowhere; // expect-error: nowhere
    break; // expect-error:
    case 3: // expect-error:
    int y = 1, y = 2; // expect-error: y
    return 5 % 2.0; // expect-error:
}
