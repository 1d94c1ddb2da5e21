// Attributes in two brackets, wherever the C compiler takes them.
#include "check.h"

[[maybe_unused]] static int unused;
[[deprecated("old"), gnu::aligned(64)]] static char far_apart[3];
struct [[gnu::packed]] tight { char c; int i [[maybe_unused]]; };
enum [[maybe_unused]] e { A [[maybe_unused]] = 3, B };
[[nodiscard]] static int twice(int n [[maybe_unused]]) { return 2 * n; }
static int list[2] [[gnu::aligned(32)]] = { 1, 2 };
typedef int number [[gnu::unused]];
static int *[[gnu::unused]] const pointer = list;
shared [2] struct tight s[2 * THREADS];
int marked [[gnu::unused]] (void);
int marked(void) { return 4; }

static int which(int n)
{
    switch (n) {
    case 1:
        n += 10;
        [[fallthrough]];
    case 2:
        [[maybe_unused]] int k = 1;
        n += k;
        break;
    default:;
    }
    return n;
}

int main(void)
{
    [[maybe_unused]] number m = 5;
    int a[3] = { 7, 8, 9 }, i [[maybe_unused]] = 1;
    s[2 * MYTHREAD].i = 6;
    CHECK_EQ(sizeof(struct tight), 5);
    CHECK_EQ(_Alignof(far_apart), 64);
    CHECK_EQ(_Alignof(list), 32);
    CHECK_EQ((size_t)list % 32, 0);
    CHECK_EQ(which(1) + which(2) + which(3), 12 + 3 + 3);
    CHECK_EQ(twice(m) + a[list[0]] + marked() + *pointer + B, 10 + 8 + 4 + 1 + 4);
    CHECK_EQ(s[2 * MYTHREAD].i, 6);
    CHECK_EQ((size_t)(int *)&s[2 * MYTHREAD].i - (size_t)(char *)&s[2 * MYTHREAD].c, 1);
    PASS();
}
