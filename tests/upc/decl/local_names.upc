// Initialisers of shared statics in blocks, of names that mean something only there, also in functions that nobody calls.
// threads: 1 3
#include "check.h"

static void not_called(void)
{
    struct here {
        int a;
    };
    static shared struct here s = {3};
    static shared int x = 3, *shared p = (shared int *)&x;
    x += s.a + (p == &x);
}

static inline int sum(int k)
{
    typedef int T;
    static shared T x = (T)5;
    return k ? sum(k - 1) + x : x;
}

static int not_reached(void)
{
    enum { NINE = 9 };
    if (0) {
        static shared int dead = NINE;
        return dead;
    }
    goto l;
    {
        static shared int skipped = NINE;
    l:
        return skipped;
    }
}

int main(void)
{
    typedef int T;
    enum { A = 3 };
    struct s {
        int a;
    };
    typedef struct {
        T q;
        shared int *p;
    } pair;
    static shared T x = (T)3;
    static shared int y[THREADS] = {[0] = A};
    static shared int z = sizeof(struct s) + sizeof(T);
    static shared pair w = {(T)1, &z};
    static T *target;
    static T **shared to = &target;
    static shared T *sp = (shared T *)&y[0];
    static struct {
        T *a;
        shared T *b;
    } both = {(T *)0, &x};
    CHECK(x == 3 && y[0] == A && z == 8 && w.q == 1 && w.p == &z && *sp == 3 && *both.b == 3);
    CHECK(MYTHREAD != 0 || to == &target);
    CHECK_EQ(sum(2), 15);
    CHECK_EQ(not_reached(), 9);
    PASS();
}
