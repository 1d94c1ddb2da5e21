// Null pointers and truth values.
#include "check.h"

shared int *zero_initialised;
shared int *shared in_shared;
shared [4] int *explicit_null = NULL;
shared int a[THREADS];

static shared [3] int *give_null(void) { return 0; }

int main(void)
{
    shared void *v = NULL;
    CHECK(zero_initialised == NULL && !zero_initialised);
    CHECK(in_shared == 0);
    CHECK(!explicit_null);
    CHECK(give_null() == NULL);
    CHECK(v == NULL && NULL == v && !v);
    CHECK_EQ(upc_threadof(v), 0);
    CHECK_EQ(upc_phaseof(v), 0);
    CHECK_EQ(upc_threadof(NULL), 0);
    shared int *p = &a[0];
    CHECK(p && p != NULL);
    CHECK((p ? 1 : 2) == 1);
    if (!p || (v && p) || !(v || p))
        CHECK(0);
    while (p)
        p = NULL;
    for (p = &a[0]; p; p = 0)
        ;
    do
        p = v;
    while (p);
    CHECK_EQ((long)p, 0);
    CHECK(p == v);
    _Bool truth = p;
    CHECK(!truth);
    truth = &a[0];
    CHECK(truth);
    PASS();
}
