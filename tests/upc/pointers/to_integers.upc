// Pointers-to-shared as integers.
// static: yes
#include "check.h"
shared [3] int a[6 * THREADS];
int main(void)
{
    for (int i = 0; i < 6 * THREADS; i++) {
        const long first = (long)&a[i];
        CHECK_EQ(first, (long)&a[i]);
        shared [3] int *p = a;
        p += i;
        CHECK_EQ(first, (long)p);
        if (upc_threadof(&a[i]) == MYTHREAD)
            CHECK_EQ((uintptr_t)&a[i], (uintptr_t)(int *)&a[i]);
        for (int j = 0; j < i; j++)
            CHECK((uintptr_t)&a[i] != (uintptr_t)&a[j]);
    }
    shared void *none = NULL;
    CHECK_EQ((long)none, 0);
    CHECK_EQ((unsigned)(uintptr_t)none, 0);
    PASS();
}
