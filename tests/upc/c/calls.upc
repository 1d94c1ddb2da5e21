// Calls out of the ordinary: variadic functions, structs by value, alloca, setjmp.
// threads: 1 2
#include "check.h"
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
struct small {
    char c[3];
};
struct big {
    double d[20];
    shared int *p;
};
shared int x[THREADS];
static double sum(int n, ...)
{
    va_list a, b;
    va_start(a, n);
    va_copy(b, a);
    double s = 0;
    for (int i = 0; i < n; i++)
        switch (va_arg(a, int)) {
        case 'i':
            s += va_arg(a, int);
            break;
        case 'd':
            s += va_arg(a, double);
            break;
        case 's':
            s += va_arg(a, struct small).c[2];
            break;
        case 'b': {
            struct big big = va_arg(a, struct big);
            s += big.d[19] + *big.p;
            break;
        }
        case 'p':
            s += *va_arg(a, shared int *);
            break;
        case 'L':
            s += va_arg(a, long double);
            break;
        }
    CHECK_EQ(va_arg(b, int), 'i');
    va_end(b);
    va_end(a);
    return s;
}
static int pass_list(const char *format, va_list args) { return vsnprintf(NULL, 0, format, args); }
static int length(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = pass_list(format, args);
    va_end(args);
    return n;
}
static struct big make(shared int *p, double last)
{
    struct big b = {.p = p};
    b.d[19] = last;
    return b;
}
static struct small three(void) { return (struct small){"abc"}; }
static jmp_buf place;
static sigjmp_buf other_place;
__attribute__((noreturn)) static void jump(int n) { longjmp(place, n); }
static int recursive(int n) { return n ? n + recursive(n - 1) : 0; }
int main(void)
{
    x[MYTHREAD] = 3;
    shared int *p = &x[MYTHREAD];
    CHECK(sum(6, 'i', 1, 'd', 0.5, 's', three(), 'b', make(p, 2), 'p', p, 'L', 4.0L) == 1 + 0.5 + 'c' + 5 + 3 + 4);
    CHECK_EQ(length("%d-%s", 12, "ab"), 5);
    CHECK(make(p, 6).d[19] == 6 && three().c[1] == 'b' && *make(p, 0).p == 3);
    CHECKED("varargs");
    char *stack = alloca(10 * (size_t)x[MYTHREAD]);
    memset(stack, 'q', 30);
    CHECK_EQ(stack[29], 'q');
    CHECKED("alloca");
    volatile int rounds = 0;
    const int jumped = setjmp(place);
    if (jumped < 3) {
        rounds++;
        jump(jumped + 1);
    }
    CHECK(rounds == 3 && jumped == 3);
    if (sigsetjmp(other_place, 1) == 0)
        siglongjmp(other_place, 1);
    switch (setjmp(place)) {
    case 0:
        x[MYTHREAD]++;
        longjmp(place, 5);
    case 5:
        CHECK_EQ(x[MYTHREAD], 4);
        break;
    default:
        CHECK(0);
    }
    CHECKED("setjmp");
    int (*f)(int) = recursive, (*const *pf)(int) = &f;
    CHECK_EQ((*f)(4) + (**pf)(3) + (&recursive)(2) + (***recursive)(1), 10 + 6 + 3 + 1);
    PASS();
}
