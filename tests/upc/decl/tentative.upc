// Declarations of one object: tentative, extern, with an initialiser, completed later.
// static: yes
// threads: 1 3
#include "check.h"
shared int t1;
shared int t1;
extern shared int t1;
shared int t1 = 4;
shared int t1;
extern shared [2] int late[];
static shared [2] int *first(void) { return &late[1]; }
shared [2] int late[4 * THREADS];
extern shared [2] int late[];
extern shared int initialised_extern[THREADS];
shared int initialised_extern[THREADS] = {7};
static shared int internal;
extern shared int internal;
static int f(void)
{
    extern shared int t1;
    extern shared [2] int late[4 * THREADS];
    return t1 + (int)sizeof late;
}
extern int open[];
static int *opened(void) { return open; }
int open[3] = {1, 2, 3};
struct later;
extern shared struct later object;
static shared struct later *where(void) { return &object; }
struct later {
    int x;
};
shared struct later object = {9};
int main(void)
{
    CHECK_EQ(f(), 4 + 4 * THREADS * (int)sizeof(int));
    CHECK(first() == &late[1]);
    CHECK_EQ(initialised_extern[0], 7);
    CHECK_EQ(internal, 0);
    CHECK_EQ(opened()[2], 3);
    CHECK_EQ(where()->x, 9);
    PASS();
}
