// Every operator that writes, on shared objects of every arithmetic type.
// threads: 1 2 3
#include "check.h"

#define TYPE(T, name)                                                                              \
    shared [2] T name[4 * THREADS];                                                                \
    static void check_##name(void)                                                                 \
    {                                                                                              \
        const int at = 4 * ((MYTHREAD + 1) % THREADS);                                             \
        T mirror = 5;                                                                              \
        name[at] = 5;                                                                              \
        CHECK(name[at]++ == mirror++);                                                             \
        CHECK(++name[at] == ++mirror);                                                             \
        CHECK(name[at]-- == mirror--);                                                             \
        CHECK(--name[at] == --mirror);                                                             \
        CHECK((name[at] += 20) == (mirror += 20));                                                 \
        CHECK((name[at] -= 3) == (mirror -= 3));                                                   \
        CHECK((name[at] *= 3) == (mirror *= 3));                                                   \
        CHECK((name[at] /= 2) == (mirror /= 2));                                                   \
        CHECK(name[at] == mirror);                                                                 \
        name[at + 1] = name[at + 2] = mirror;                                                      \
        CHECK(name[at + 1] == mirror && name[at + 2] == mirror);                                   \
        CHECK(-name[at] == -mirror && !name[at] == !mirror && +name[at] == +mirror);               \
        CHECK(name[at] + 1 == mirror + 1 && 2 * name[at] == 2 * mirror);                           \
        CHECK(name[at + 3] == 0);                                                                  \
        upc_barrier;                                                                               \
    }
#define WHOLE(T, name)                                                                             \
    TYPE(T, name)                                                                                  \
    static void check_bits_##name(void)                                                            \
    {                                                                                              \
        shared [2] T *p = &name[4 * MYTHREAD];                                                     \
        T mirror = 90;                                                                             \
        *p = 90;                                                                                   \
        CHECK((*p %= 50) == (mirror %= 50));                                                       \
        CHECK((*p <<= 1) == (mirror <<= 1));                                                       \
        CHECK((*p >>= 2) == (mirror >>= 2));                                                       \
        CHECK((*p |= 33) == (mirror |= 33));                                                       \
        CHECK((*p &= 57) == (mirror &= 57));                                                       \
        CHECK((*p ^= 12) == (mirror ^= 12));                                                       \
        CHECK(~*p == ~mirror && *p == mirror);                                                     \
        upc_barrier;                                                                               \
    }

WHOLE(char, c)
WHOLE(signed char, sc)
WHOLE(unsigned char, uc)
WHOLE(short, s)
WHOLE(unsigned short, us)
WHOLE(int, i)
WHOLE(unsigned, u)
WHOLE(long, l)
WHOLE(unsigned long, ul)
WHOLE(long long, ll)
WHOLE(__int128, wide)
TYPE(float, f)
TYPE(double, d)
TYPE(long double, ld)

shared _Bool truth[THREADS];
shared enum { RED, GREEN = 7 } colour[THREADS];

int main(void)
{
    check_c(), check_bits_c();
    check_sc(), check_bits_sc();
    check_uc(), check_bits_uc();
    check_s(), check_bits_s();
    check_us(), check_bits_us();
    check_i(), check_bits_i();
    check_u(), check_bits_u();
    check_l(), check_bits_l();
    check_ul(), check_bits_ul();
    check_ll(), check_bits_ll();
    check_wide(), check_bits_wide();
    check_f();
    check_d();
    check_ld();
    truth[MYTHREAD] = 17;
    CHECK_EQ(truth[MYTHREAD], 1);
    truth[MYTHREAD] = 0.0;
    CHECK_EQ(truth[MYTHREAD], 0);
    colour[MYTHREAD] = GREEN;
    CHECK_EQ(colour[MYTHREAD], 7);
    /* Assignments convert to the type of the object, and have its value. */
    CHECK_EQ(c[4 * MYTHREAD] = 300, (char)300);
    CHECK(uc[4 * MYTHREAD] = 256 + 4);
    CHECK_EQ(i[4 * MYTHREAD] = 3.99, 3);
    CHECK_EQ(us[4 * MYTHREAD] = -1, 65535);
    uc[4 * MYTHREAD] = 200;
    uc[4 * MYTHREAD] += 2.5;
    CHECK_EQ(uc[4 * MYTHREAD], 202);
    i[4 * MYTHREAD] = 7;
    i[4 * MYTHREAD] *= 1.5;
    CHECK_EQ(i[4 * MYTHREAD], 10);
    PASS();
}
