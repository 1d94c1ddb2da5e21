// UPC linked with a plain C object; identifiers of C headers and of our runtime's insides.
// object: _with_c_part.c
#include "check.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

int c_function(int x);
extern int c_variable;

/* Names that a runtime might use for itself. */
static int put(int x) { return x + 1; }
static int get(int x) { return x + 2; }
struct segment {
    int barrier, lock, thread, threads, phase, shared_var;
};
typedef int node;
static int rank, size, mythread, gasnet, poll_count, base, stride;

shared int x[THREADS];

int main(void)
{
    CHECK_EQ(c_function(4), 16);
    c_variable = MYTHREAD;
    upc_barrier;
    CHECK_EQ(c_variable, MYTHREAD);
    x[MYTHREAD] = put(1) + get(1);
    CHECK_EQ(x[MYTHREAD], 5);
    struct segment s = {1, 2, 3, 4, 5, 6};
    node n = s.phase + rank + size + mythread + gasnet + poll_count + base + stride;
    CHECK_EQ(n, 5);
    CHECK(fabs(sin(0.5) * sin(0.5) + cos(0.5) * cos(0.5) - 1) < 1e-12);
    CHECK_EQ(strlen("four"), 4);
    CHECK(getpid() > 1);
    PASS();
}
