// Inline definitions link whether or not they are inlined, and whether or not an external definition exists.
// flags: -O0
// files: _inline_other.c
#include "check.h"

shared int sh[THREADS];

inline int plain(int i) { return i + 1; }
inline int with_shared(shared int *p) { return *p + 1; }
inline shared int *returns(int i);
inline shared int *returns(int i) { return &sh[i]; }
static inline int hidden(int i) { return i + 2; }
int declared(int);
inline int declared(int i) { return i + 3; }
inline int exported(int i) { return i + 4; }
extern int exported(int);
extern inline int external(int i) { return i + 5; }
inline int first(int), second(int);
inline int first(int i) { return i; }
inline int second(int i) { return first(i); }
/* The other file has the external definition. */
inline int elsewhere(int i) { return i + 7; }
extern int use_them(int);

int main(void)
{
    int (*p)(int) = plain;
    sh[MYTHREAD] = MYTHREAD;
    upc_barrier;
    CHECK_EQ(plain(1) + p(1), 4);
    CHECK_EQ(with_shared(&sh[THREADS - 1]), THREADS);
    CHECK(returns(0) == sh);
    CHECK_EQ(hidden(0) + declared(0) + exported(0) + external(0), 14);
    CHECK_EQ(second(9), 9);
    CHECK_EQ(elsewhere(1), 8);
    CHECK_EQ(use_them(0), 19);
    PASS();
}
