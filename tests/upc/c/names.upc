// Names near to keywords, and library names redefined by the program.
// threads: 1 3
#include "check.h"

static int barrier, forall, fence, notify, upc_forallx, shared_, strictly, relaxed_;
static int upc_tick(void) { return 5; }
struct strictness {
    int upc_waiting;
};
#define LOCAL_SHARED shared [3]
#define LOOP upc_forall
LOCAL_SHARED int a[3 * THREADS];

int main(void)
{
    barrier = forall = fence = notify = upc_forallx = shared_ = strictly = relaxed_ = 1;
    struct strictness s = {upc_tick()};
    CHECK_EQ(s.upc_waiting + barrier + forall + fence, 8);
    CHECK_EQ(notify + upc_forallx + shared_ + strictly + relaxed_, 5);
    LOOP (int i = 0; i < 3 * THREADS; i++; &a[i])
        a[i] = i;
    upc_barrier;
    CHECK_EQ(a[3 * THREADS - 1], 3 * THREADS - 1);
    const char *keyword = "shared upc_forall THREADS"; /* not in strings: upc_barrier */
    CHECK_EQ(keyword[0], 's');
    PASS();
}
