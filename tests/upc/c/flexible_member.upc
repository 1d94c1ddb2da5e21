// A flexible array member takes an initialiser in an object with static storage.
#include "check.h"

struct text {
    int n;
    char d[];
};
struct numbers {
    int n, d[];
};
static const struct text t = { 3, "abc" };
static struct numbers m = { 2, { 4, 5 } };

int main(void)
{
    CHECK(t.d[2] == 'c' && t.d[3] == 0);
    CHECK_EQ(m.d[0] + m.d[1] + m.n, 11);
    PASS();
}
