// C11 and GNU C that has nothing to do with UPC comes through as written.
// threads: 1 2
#include "check.h"
#include <complex.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <tgmath.h>
#include <time.h>
#include <wchar.h>

#define MAX(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })

static inline __attribute__((always_inline, unused)) int add(int a, int b) { return a + b; }
static int packed_size(void)
{
    struct __attribute__((packed)) {
        char c;
        int i;
    } p = {.i = 1};
    return sizeof p;
}
static int computed_goto(int which)
{
    static const void *const table[] = {&&zero, &&one, &&two};
    goto *table[which];
zero:
    return 10;
one:
    return 11;
two:
    return 12;
}
static int nested_ranges(int x)
{
    switch (x) {
    case 0 ... 9:
        return 1;
    case 'a' ... 'z':
        return 2;
    default:
        return 3;
    }
}
_Static_assert(sizeof(int) == 4, "int");
static _Thread_local int per_thread = 3;
_Alignas(64) static char aligned[64];
typedef int vec __attribute__((vector_size(16)));
enum __attribute__((packed)) tiny { T0, T1 };
int renamed(int) __asm__("another_name");
int renamed(int x) { return x + 1; }
static int sum(int n, ...)
{
    va_list a, b;
    va_start(a, n);
    va_copy(b, a);
    int s = 0;
    for (int i = 0; i < n; i++)
        s += va_arg(a, int) - va_arg(b, int) / 2;
    va_end(b);
    va_end(a);
    return s;
}
static int array_parameter(int n, int a[static restrict 2], double m[n][n]) { return a[1] + (int)m[1][1]; }
typedef union __attribute__((transparent_union)) {
    int *i;
    float *f;
} either;
static int is_null(either e) { return e.i == 0; }
typedef int word __attribute__((mode(DI)));
struct flexible {
    int n;
    char data[];
};
static jmp_buf back;

int main(void)
{
    CHECK_EQ(MAX(3, 4) + add(1, 2), 7);
    CHECK_EQ(packed_size(), 5);
    CHECK_EQ(computed_goto(1), 11);
    CHECK_EQ(nested_ranges('q') * 10 + nested_ranges(5), 21);
    CHECK_EQ(per_thread, 3);
    CHECK_EQ((uintptr_t)aligned % alignof(aligned), 0);
    vec v = {1, 2, 3, 4};
    v = v * v + 1;
    CHECK_EQ(v[3], 17);
    CHECK_EQ(sizeof(enum tiny), 1);
    CHECK_EQ(renamed(1), 2);
    CHECK_EQ(sum(3, 2, 4, 6), 6);
    double m[2][2] = {{0, 0}, {0, 5}};
    CHECK_EQ(array_parameter(2, (int[]){1, 2, 3}, m), 7);
    CHECK(is_null((int *)0) && !is_null(&(float){1}));
    CHECK_EQ(sizeof(word), 8);
    double complex z = 1.0 + 2.0 * I;
    CHECK(creal(z * conj(z)) == 5.0 && __real__ z == 1.0);
    float root = sqrt(4.0f); /* type-generic */
    CHECK(root == 2.0f);
    struct flexible *fl = malloc(sizeof *fl + 10);
    fl->data[9] = 'x';
    CHECK_EQ(fl->data[9], 'x');
    free(fl);
    int n = 5, vla[n][n + 1];
    CHECK_EQ(sizeof vla, 30 * sizeof(int));
    CHECK_EQ(_Generic(1.0f, float: 1, double: 2, default: 3), 1);
    CHECK_EQ(__builtin_popcount(255) + __builtin_expect(1, 1), 9);
    __int128 wide = (__int128)1 << 100;
    CHECK_EQ((long)(wide >> 98), 4);
    char *stack = __builtin_alloca(16);
    strcpy(stack, "alloca");
    CHECK(stack[5] == 'a' && isalpha(stack[0]));
    int x = 1;
#if defined __x86_64__
    __asm__ volatile("addl %1, %0" : "+r"(x) : "r"(41) : "cc");
#else
    x += 41;
#endif
    CHECK_EQ(x, 42);
    volatile int jumped = 0;
    if (setjmp(back) == 0) {
        jumped = 1;
        longjmp(back, 1);
    }
    CHECK_EQ(jumped, 1);
    CHECK_EQ(x ?: 7, 42);
    static const char *const names[] = {[T1] = "one", [T0] = "zero"};
    CHECK(strcmp(names[1], "one") == 0 && strcmp("con" "cat", "concat") == 0);
    CHECK(L'a' == 97 && u8"x"[0] == 'x' && sizeof(u"ab") == 6);
    bool b = 5;
    CHECK_EQ(b, 1);
    CHECK(__func__[0] == 'm' && __extension__ 1);
    int counter = 0;
    for (struct { int i; } s = {0}; s.i < 3; s.i++)
        counter++;
    CHECK_EQ(counter, 3);
    do {
        __label__ out;
        if (counter == 3)
            goto out;
        counter = 0;
    out:;
    } while (0);
    CHECK_EQ(counter, 3);
    CHECK_EQ(__alignof__(double), 8);
    CHECK_EQ((struct { int a, b; }){.b = 2}.b, 2);
    PASS();
}
