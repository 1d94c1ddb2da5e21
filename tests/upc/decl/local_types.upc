// Shared statics of types that have a name only inside a function, with pointers-to-shared among their values.
// threads: 1 3
#include "check.h"

shared int x;
shared int y[THREADS];

int main(void)
{
    struct loc {
        int k;
        shared int *p;
    };
    static shared struct loc s = {3, &x};
    static shared struct loc t[THREADS] = {{4, &y[0]}};
    CHECK(s.k == 3 && s.p == &x);
    CHECK(t[0].k == 4 && t[0].p == &y[0]);
    CHECK(THREADS == 1 || t[THREADS - 1].k == 0 && t[THREADS - 1].p == NULL);
    PASS();
}
