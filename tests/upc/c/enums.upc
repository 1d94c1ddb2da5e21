// Enumerations.
// threads: 1 2
#include "check.h"
enum forward;
static int take(enum forward *p);
enum forward { F1 = 1, F2, F3 = F2 * 10, F4, };
static int take(enum forward *p) { return *p; }
enum big { B0, B1 = 0x100000000, B2 };
enum negative { N = -5, M, ZERO = M + 4 };
enum unsigned_big { U = 4294967295u };
enum { ANONYMOUS = sizeof(int) * 2, CHARACTER = 'x', SHIFTED = 1 << 3 | 1 };
typedef enum named { FIRST, SECOND } named;
shared enum big sh[THREADS];
shared named names[THREADS];
struct s {
    enum inner { IN1 = 7, IN2 } e : 5;
    enum named n;
};
shared struct s rec[THREADS];
static int f(enum in_parameters { P1 = 3 } e) { return e + P1; }
int main(void)
{
    enum forward v = F4;
    CHECK_EQ(take(&v), 21);
    CHECK(sizeof(enum big) == 8 && B2 == 0x100000001 && sizeof(enum forward) == 4);
    CHECK(N < 0 && M == -4 && ZERO == 0 && U > 0 && ANONYMOUS == 8 && CHARACTER == 120 && SHIFTED == 9);
    sh[MYTHREAD] = B2;
    CHECK_EQ(sh[MYTHREAD], B2);
    names[MYTHREAD] = SECOND;
    names[MYTHREAD]++;
    CHECK_EQ(names[MYTHREAD], 2);
    rec[MYTHREAD].e = IN2;
    rec[MYTHREAD].n = FIRST;
    CHECK_EQ(rec[MYTHREAD].e, 8);
    CHECK_EQ(f(4), 7);
    enum { LOCAL = 3, FIRST = 9 };
    int a[LOCAL] = {[LOCAL - 1] = FIRST};
    switch ((named)a[2]) {
    case FIRST:
        break;
    default:
        CHECK(0);
    }
    CHECK_EQ((enum named)1 | SECOND, 1);
    CHECK_EQ(_Generic((enum forward)0, unsigned: 1, default: 0), 1);
    PASS();
}
