// Decimal floating types and constants, also shared ones; __builtin_choose_expr by what is constant.
#include "check.h"
shared [2] _Decimal64 d[2 * THREADS];
shared _Decimal128 wide = 0.1DL;
static _Decimal32 small = 1.25DF;
static int y, z = __builtin_choose_expr(!__builtin_constant_p(y), 3, 4);
struct money { char c; _Decimal64 sum; };
shared struct money m[THREADS];

static _Decimal64 add(_Decimal64 a, _Decimal64 b) { return a + b; }
static int choose(int x) { return __builtin_choose_expr(__builtin_constant_p(x), y++, 5); }

int main(void)
{
    d[2 * MYTHREAD] = 0.1DD;
    d[2 * MYTHREAD + 1] = 0.2dd;
    m[MYTHREAD].sum = 1e3DD;
    upc_barrier;
    m[MYTHREAD].sum += MYTHREAD;
    upc_barrier;
    // True of decimal numbers only.
    CHECK(add(d[2 * MYTHREAD], d[2 * MYTHREAD + 1]) == 0.3DD);
    CHECK(d[0] + d[1] == 0.3DD);
    CHECK(wide * 3 == 0.3DL);
    CHECK(small * 4 == 5 && (int)(small + 1.75DF) == 3);
    CHECK_EQ(sizeof small + sizeof d[0] + sizeof wide, 4 + 8 + 16);
    CHECK_EQ(sizeof(small + 1.DD), 8);
    CHECK(m[THREADS - 1].sum == 1000 + THREADS - 1);
    CHECK_EQ(_Generic(d[0], double: 1, _Decimal64: 2, default: 3), 2);
    CHECK_EQ(z + choose(4) + y, 8);
    PASS();
}
