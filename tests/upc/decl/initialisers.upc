// Initialisers of shared objects, done before main on whatever thread owns them.
// static: yes
#include "check.h"

shared int x = 5, y = -2, untouched;
shared const double e = 2.5;
struct s {
    int a;
    double b[2];
    struct {
        char c;
        short d;
    } in;
};
shared struct s one = {1, {2.5, 3.5}, {'c', 4}};
shared struct s designated = {.in.d = 9, .b[1] = 1.25};
shared [2] int list[3 * THREADS] = {10, 11, 12};
shared [2] int gaps[8 * THREADS] = {[1] = 21, [6] = 26, 27};
shared [] char text[] = "shared text";
shared [] int counted[] = {1, 2, 3, 4};
shared [3] struct s many[2 * THREADS] = {{1, {0.5}}, {.a = 7}};
shared [] int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
union u {
    int i;
    float f;
};
shared union u un = {.f = 0.75f};
shared enum { A, B = 6 } en = B;
shared unsigned char wraps = 300 - 1;
shared long long sum = 1LL << 40 | 1;
shared int *shared null_pointer = 0;

static shared int *local_static(void)
{
    static shared int count = 100;
    return &count;
}

int main(void)
{
    static shared [2] int inside[2 * THREADS] = {3, 4};
    CHECK_EQ(x, 5);
    CHECK_EQ(y, -2);
    CHECK_EQ(untouched, 0);
    CHECK(e == 2.5);
    CHECK(one.a == 1 && one.b[0] == 2.5 && one.b[1] == 3.5 && one.in.c == 'c' && one.in.d == 4);
    CHECK(designated.a == 0 && designated.in.d == 9 && designated.b[1] == 1.25);
    for (int i = 0; i < 3 * THREADS; i++)
        CHECK_EQ(list[i], i < 3 ? 10 + i : 0);
    for (int i = 0; i < 8 * THREADS; i++)
        CHECK_EQ(gaps[i], i == 1 || i == 6 || i == 7 ? 20 + i : 0);
    CHECK_EQ(sizeof text, 12);
    CHECK(text[0] == 's' && text[10] == 't' && text[11] == 0);
    CHECK_EQ(sizeof counted, 4 * sizeof(int));
    CHECK_EQ(counted[3], 4);
    CHECK(many[0].a == 1 && many[0].b[0] == 0.5 && many[1].a == 7);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(table[i / 3][i % 3], i + 1);
    CHECK(un.f == 0.75f);
    CHECK_EQ(en, 6);
    CHECK_EQ(wraps, 43);
    CHECK_EQ(sum, (1LL << 40) + 1);
    CHECK(null_pointer == NULL);
    CHECK_EQ(*local_static(), 100);
    CHECK(inside[0] == 3 && inside[1] == 4);
    for (int i = 2; i < 2 * THREADS; i++)
        CHECK_EQ(inside[i], 0);
    PASS();
}
