// Names of types that mean something else in a block, where shared objects of these types are accessed.
#include "check.h"

typedef int T;
typedef struct {
    int a, b[2];
} R;
static shared T s[THREADS];
static shared R r[THREADS];
shared [] T *p;
struct tagged {
    int a, b;
};
enum colour { RED, GREEN };
static shared struct tagged tagged[THREADS];
static shared enum colour colour[THREADS];

static T by_parameter(shared R *R, T T)
{
    R->a = T;
    s[MYTHREAD] = R->a + T;
    return s[MYTHREAD] += T;
}

int main(void)
{
    const int next = (MYTHREAD + 1) % THREADS;
    {
        int T = 3, R = 4;
        s[next] = T;
        s[next] += R;
        r[next].a = R;
        r[next].b[1] = s[next]++ + (int)r[next].a;
        CHECK(s[next] == 8 && r[next].b[1] == 11);
        static shared double x;
        upc_barrier;
        if (MYTHREAD == 0) {
            p = (shared [] int *)&s[0];
            *p = *p + T + R;
            CHECK_EQ(*p, 15);
        }
        upc_barrier;
        double T2 = x;
        CHECK(T2 == 0);
    }
    upc_barrier;
    {
        typedef double T;
        static shared T x[THREADS] = {2.5};
        struct {
            R inner;
        } R = {{3}};
        x[next] = 1.5;
        s[next] = (int)(2 * x[next]);
        r[next].a = R.inner.a;
        CHECK(s[next] == 3 && x[next] == 1.5 && r[next].a == 3);
        struct {
            int c;
        } whole = {s[next]};
        CHECK_EQ(whole.c, 3);
    }
    upc_barrier;
    {
        struct tagged {
            double d[16];
        } d = {{1}};
        enum colour { WIDE = 1L << 40 };
        tagged[next].a = 1;
        tagged[next].b = 2;
        const int k = (d.d[0] == 1 ? tagged[next] : tagged[0]).b;
        tagged[next] = tagged[next];
        colour[next] = GREEN;
        colour[next]--;
        CHECK(k == 2 && tagged[next].a == 1 && colour[next] == RED && WIDE > 0);
        static shared struct tagged other[THREADS];
        other[next] = d;
        CHECK(sizeof other[0] == 16 * sizeof(double) && other[next].d[0] == 1);
    }
    upc_barrier;
    CHECK_EQ(by_parameter(&r[MYTHREAD], 5), 15);
    PASS();
}
