// The preprocessor's view: __LINE__ and __FILE__ as in the source, UPC in macro bodies, pragmas.
// threads: 1 2
#include "check.h"
#include <upc_strict.h>
#include <upc_relaxed.h>
#include <string.h>

#define SET(place, value) ((place) = (value))
#define EACH(i, n, where) upc_forall (int i = 0; i < (n); i++; where)

shared int a[4 * THREADS];

int main(void)
{
    const int line = __LINE__; CHECK_EQ(line, 15);
    CHECK(strstr(__FILE__, "macros_and_lines.upc") != NULL);
    EACH (i, 4 * THREADS, &a[i])
        SET(a[i], i);
    upc_barrier;
    EACH (i, 4 * THREADS, i)
        CHECK_EQ(a[i], i);
    {
#pragma upc strict
        SET(a[MYTHREAD], 3);
    }
#line 500 "elsewhere.c"
    CHECK_EQ(__LINE__, 500);
    CHECK(strcmp(__FILE__, "elsewhere.c") == 0);
    PASS();
}
