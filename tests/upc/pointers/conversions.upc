// Phases through conversions: kept, or zero.
// static: yes
#include "check.h"

shared [5] int a[20 * THREADS];
shared [4] int four[20 * THREADS];
struct s {
    int head;
    int list[6];
};
shared [2] struct s rec[4 * THREADS];

int main(void)
{
    shared [5] int *p = &a[8];
    CHECK_EQ(upc_phaseof(p), 3);
    shared void *v = p;
    CHECK_EQ(upc_phaseof(v), 3);
    CHECK_EQ(upc_threadof(v), 1 % THREADS);
    shared [5] int *back = v;
    CHECK_EQ(upc_phaseof(back), 3);
    CHECK(back == p);
    CHECK(v == p);
    shared [5] unsigned *same_size = (shared [5] unsigned *)p;
    CHECK_EQ(upc_phaseof(same_size), 3);
    shared [5] short *smaller = (shared [5] short *)p;
    CHECK_EQ(upc_phaseof(smaller), 0);
    CHECK_EQ(upc_threadof(smaller), 1 % THREADS);
    shared [4] int *other = (shared [4] int *)p;
    CHECK_EQ(upc_phaseof(other), 0);
    CHECK_EQ(upc_addrfield(other), upc_addrfield(p));
    shared int *cyclic = (shared int *)p;
    CHECK_EQ(upc_phaseof(cyclic), 0);
    CHECK_EQ(upc_threadof(cyclic + 1), (1 + 1) % THREADS);
    shared [] int *indefinite = (shared [] int *)p;
    CHECK_EQ(upc_phaseof(indefinite), 0);
    CHECK_EQ(upc_threadof(indefinite + 1), 1 % THREADS);
    shared int *through_generic = v;
    CHECK_EQ(upc_phaseof(through_generic), 0);
    shared [5] int *reset = (shared [5] int *)upc_resetphase(p);
    CHECK_EQ(upc_phaseof(reset), 0);
    CHECK_EQ(upc_addrfield(reset), upc_addrfield(p));
    /* A pointer with its phase reset counts a whole block from where it is. */
    CHECK_EQ(upc_threadof(reset + 4), upc_threadof(p));
    CHECK_EQ(upc_threadof(reset + 5), (1 + 1) % THREADS);
    shared const int *qualified = (shared const int *)p;
    CHECK_EQ(*qualified, 0);
    shared [5] const int *more = p;
    CHECK_EQ(upc_phaseof((shared void *)more), 3);
    strict shared [5] int *stricter = (strict shared [5] int *)p;
    CHECK_EQ(upc_phaseof(stricter), 3);

    /* Members are reached by pointers without a block size. */
    shared [] int *member = &rec[3].list[2];
    CHECK_EQ(upc_threadof(member), 1 % THREADS);
    CHECK_EQ(upc_phaseof(member), 0);
    shared [] int *decayed = rec[3].list;
    CHECK_EQ(member - decayed, 2);
    CHECK_EQ(decayed - &rec[3].head, 1);

    upc_barrier;

    /* To private: only for what lives here. */
    upc_forall (int i = 0; i < 20 * THREADS; i++; &a[i]) {
        int *here = (int *)&a[i];
        *here = i + 1;
        CHECK_EQ(a[i], i + 1);
        a[i] = i + 2;
        CHECK_EQ(*here, i + 2);
    }
    CHECK((int *)(shared int *)NULL == NULL);
    upc_barrier;

    /* The integer value of a pointer is the same each time. */
    CHECK_EQ((long)&four[7], (long)(four + 7));
    PASS();
}
