// C11.
// threads: 1 2
#include "check.h"
#include <stdalign.h>
#include <stdnoreturn.h>
#include <string.h>
#define KIND(x)                                                                                    \
    _Generic((x), char: 1, signed char: 2, unsigned char: 3, int: 4, unsigned: 5, long: 6, double: 7, char *: 8,           \
             const char *: 9, shared int *: 10, shared [3] int *: 11, shared void *: 12, int (*)(void): 13, default: 0)
static int function(void) { return 1; }
shared int x;
shared [3] int a[3 * THREADS];
_Static_assert(sizeof(long) == 8, "sixty" "-four");
_Static_assert(upc_blocksizeof(a) == 3, "layout");
struct anonymous {
    int tag;
    union {
        struct {
            int a, b;
        };
        long whole;
        struct {
            short s[4];
        };
    };
    _Alignas(16) char c;
    _Static_assert(1, "in a struct");
};
shared struct anonymous sh[THREADS];
static noreturn void stop(void) { upc_global_exit(9); }
static _Thread_local int local = 4;
static alignas(double) char buffer[sizeof(double)];
_Alignas(64) _Alignas(32) static int aligned;
struct with_tag {
    int n;
    struct {
        int inner;
    } named;
};
int main(void)
{
    char c = 0;
    CHECK_EQ(KIND(c), 1);
    CHECK_EQ(KIND('c'), 4);
    CHECK_EQ(KIND(c + c), 4);
    CHECK_EQ(KIND(sizeof c), 0);
    CHECK_EQ(KIND("s"), 8);
    CHECK_EQ(KIND((const char *)0), 9);
    CHECK_EQ(KIND(&x), 10);
    CHECK_EQ(KIND(a), 11);
    CHECK_EQ(KIND(&a[1]), 11);
    CHECK_EQ(KIND((shared void *)a), 12);
    CHECK_EQ(KIND(x), 4);
    CHECK_EQ(KIND(function), 13);
    CHECK_EQ(_Generic(0, int: _Generic(1.0, double: 5, default: 6), default: 8), 5);
    CHECKED("generic");
    struct anonymous v = {1, .b = 3, .c = 'c'};
    CHECK(v.whole == 3L << 32 && v.s[2] == 3);
    sh[MYTHREAD] = v;
    sh[MYTHREAD].a = 5;
    CHECK(sh[MYTHREAD].whole == (3L << 32 | 5) && sh[MYTHREAD].s[0] == 5 && sh[MYTHREAD].c == 'c');
    CHECKED("anonymous");
    CHECK(_Alignof(struct anonymous) == 16 && offsetof(struct anonymous, c) == 16 && alignof(double) == 8);
    CHECK((uintptr_t)&aligned % 64 == 0 && (uintptr_t)buffer % alignof(double) == 0);
    CHECKED("alignment");
    local += MYTHREAD;
    CHECK_EQ(local, 4 + MYTHREAD);
    if (THREADS < 1)
        stop();
    _Static_assert(sizeof(struct with_tag) == 8, "in a block");
    CHECKED("rest");
    PASS();
}
