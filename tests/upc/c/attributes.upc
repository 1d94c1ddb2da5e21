// Attributes in every position.
// threads: 1 2
#include "check.h"
#include <stdarg.h>
#include <string.h>
struct __attribute__((packed)) p1 {
    char c;
    int i;
};
struct p2 {
    char c;
    int i __attribute__((packed));
    short s;
} __attribute__((aligned(8)));
struct p3 {
    char c;
    int i __attribute__((aligned(32))), j;
} __attribute__((packed));
union __attribute__((transparent_union)) either {
    int *i;
    float *f;
};
typedef union {
    const char *text;
    long *number;
} other_either __attribute__((__transparent_union__));
typedef int di __attribute__((mode(DI)));
typedef unsigned int qi __attribute__((__mode__(__QI__)));
typedef float vec __attribute__((vector_size(16), aligned(16)));
typedef int aligned_int __attribute__((aligned(16)));
enum __attribute__((__packed__)) small { SMALL };
enum noted { OLD __attribute__((deprecated)), NEW };
static int __attribute__((noinline)) __attribute__((unused)) two(void) { return 2; }
static __attribute__((format(printf, 1, 2))) int say(const char *format, ...)
{
    char buffer[50];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return (int)strlen(buffer);
}
extern int weak_one(void) __attribute__((weak));
int real_one(void) { return 11; }
extern int other_name(void) __attribute__((alias("real_one")));
static int __attribute__(()) empty(__attribute__((unused)) int a, int b __attribute__((unused))) { return 3; }
static int which(union either e) { return *e.i != 0; }
static int first(other_either e) { return e.text[0]; }
__attribute__((constructor)) static void before(void);
static int constructed;
static void before(void) { constructed = 1; }
static void cleaner(int *p) { constructed += *p; }
int (__attribute__((noinline)) *pointer)(int, int) = empty;
int *__attribute__((aligned(64))) star;
static int in_section __attribute__((section(".data.special"))) = 8, beside __attribute__((unused));
__attribute__((visibility("hidden"))) int hidden;
void never(void) __attribute__((noreturn, cold));
void never(void) { upc_global_exit(7); }
shared struct p1 sh[THREADS] __attribute__((unused));
__attribute__((unused)) static int standard;
int main(void)
{
    CHECK(sizeof(struct p1) == 5 && sizeof(struct p2) == 8 && offsetof(struct p2, s) == 6);
    CHECK(offsetof(struct p3, i) == 32 && offsetof(struct p3, j) == 36);
    CHECK(sizeof(di) == 8 && sizeof(qi) == 1 && (qi)-1 == 255 && sizeof(vec) == 16 && sizeof(enum small) == 1);
    CHECKED("layout");
    int one = 1;
    long number = 'x';
    CHECK(which(&one) && which((float[]){1.0f}) && first("text") == 't' && first(&number) == 'x');
    CHECKED("transparent-union");
    CHECK_EQ(two() + say("%d", 1234) + empty(1, 2) + other_name() + pointer(1, 1), 2 + 4 + 3 + 11 + 3);
    CHECK(!weak_one && constructed == 1 && in_section == 8 && NEW == 1);
    {
        int amount __attribute__((cleanup(cleaner))) = 4;
        aligned_int here = amount;
        CHECK((uintptr_t)&here % 16 == 0 && (uintptr_t)&star % 64 == 0);
    }
    CHECK_EQ(constructed, 5);
    if (THREADS < 0)
        never();
    switch (one) {
    case 1:
        one++;
        __attribute__((fallthrough));
    case 2:
        one++;
    unused: __attribute__((unused));
    }
    CHECK_EQ(one, 3);
    sh[MYTHREAD].i = standard + 5;
    CHECK_EQ(sh[MYTHREAD].i, 5);
    PASS();
}
