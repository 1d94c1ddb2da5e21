// Shared objects named in several files: extern, tentative, incomplete, static, in headers.
// static: yes
// files: _two_files_other.upc
#include "check.h"
#include "_two_files.uph"

shared int tentative;
extern shared int tentative;
shared int tentative;
extern shared [] int incomplete[];
extern shared [4] double blocks[2 * THREADS];
static shared int own = 1;
extern shared int *give_own(void);
extern shared [] int *whole(void);
int plain_c = 3;

int main(void)
{
    if (MYTHREAD == THREADS - 1) {
        tentative = 5;
        common.x = 8;
        incomplete[6] = 66;
    }
    blocks[MYTHREAD] = MYTHREAD / 2.0;
    upc_barrier;
    CHECK_EQ(read_tentative(), 5);
    CHECK_EQ(defined_there, 77);
    CHECK_EQ(read_common(), 8);
    CHECK_EQ(whole()[6], 66);
    CHECK(read_block(THREADS - 1) == (THREADS - 1) / 2.0);
    CHECK_EQ(own, 1);
    CHECK_EQ(*give_own(), 2); /* another object of the same name */
    {
        extern shared int defined_there;
        CHECK_EQ(defined_there, 77);
    }
    CHECK_EQ(read_plain_c(), 3);
    plain_c += MYTHREAD; /* ordinary variables are per thread */
    upc_barrier;
    CHECK_EQ(read_plain_c(), 3 + MYTHREAD);
    PASS();
}
