// Assignments that C does not allow, to shared objects.
#include <upc.h>
struct s {
    int a;
};
struct t {
    int a;
};
shared const int c = 1;
shared struct s s;
shared int a[THREADS];
shared const struct s cs;
int main(void)
{
    struct t t = {0};
    c = 2; // expect-error:
    cs.a = 1; // expect-error:
    s = t; // expect-error:
    a = 0; // expect-error:
    s = 5; // expect-error:
    s + 1; // expect-error:
    a[0]++;
    c++; // expect-error:
    s.nothing = 1; // expect-error: nothing
    a[0].x = 1; // expect-error:
    a[0](); // expect-error:
    *a[0] = 1; // expect-error:
    return 0;
}
