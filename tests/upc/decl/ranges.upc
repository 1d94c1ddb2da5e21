// Range designators over values that only the start of the program knows.
// static: yes
#include "check.h"

shared int x, y;
shared int *p[6] = { [0 ... 3] = &x, [2] = &y, [5] = &y };
struct pair {
    int tag;
    shared int *at[3];
};
static struct pair pairs[4] = { [1 ... 2] = { 7, { [0 ... 1] = &x } }, [3].at[2] = &y };
shared [2] int spread[4 * THREADS] = { [1 ... 2] = 5 };
shared int grid[3][THREADS] = { [1 ... 2] = { 3 } };
shared int *shared kept[2 * THREADS] = { [0 ... 1] = &y };

int main(void)
{
    static shared int *local[3] = { [0 ... 2] = &y };
    for (int i = 0; i < 6; i++)
        CHECK(p[i] == (i == 2 || i == 5 ? &y : i < 4 ? &x : NULL));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            CHECK_EQ(pairs[i].tag, i == 1 || i == 2 ? 7 : 0);
            CHECK(pairs[i].at[k] == (i == 3 && k == 2 ? &y : (i == 1 || i == 2) && k < 2 ? &x : NULL));
        }
    for (int i = 0; i < 4; i++)
        CHECK_EQ(spread[i], i == 1 || i == 2 ? 5 : 0);
    for (int i = 0; i < 2 * THREADS; i++)
        CHECK(kept[i] == (i < 2 ? &y : NULL));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(grid[i][0], i > 0 ? 3 : 0);
    for (int i = 0; i < 3; i++)
        CHECK(local[i] == &y);
    PASS();
}
