// Loops near the ends of the integer types, and over more than 2^31 elements' worth of indices.
// static: yes
// threads: 1 3
#include "check.h"

shared [1000] char c[1000 * THREADS];

int main(void)
{
    long count = 0, sum = 0;
    upc_forall (long i = 4000000000L; i < 4000000000L + 6 * THREADS; i++; i) {
        count++;
        CHECK_EQ(i % THREADS, MYTHREAD);
    }
    CHECK_EQ(count, 6);
    count = 0;
    upc_forall (unsigned long i = ~0ul - 6 * THREADS; i < ~0ul; i++; i)
        count++;
    CHECK_EQ(count, 6);
    count = 0;
    upc_forall (unsigned char i = 200; i >= 100; i--; i)
        count += i % THREADS == MYTHREAD;
    long expected = 0;
    for (int i = 200; i >= 100; i--)
        expected += i % THREADS == MYTHREAD;
    CHECK_EQ(count, expected);
    count = 0;
    upc_forall (int i = 2147483647 - 3 * THREADS; i < 2147483647; i++; i)
        count++;
    CHECK_EQ(count, 3);
    upc_forall (long i = 0; i < 1000 * THREADS; i++; &c[i])
        sum++;
    CHECK_EQ(sum, 1000);
    upc_forall (long i = 0; i < 1000L * THREADS; i += 999; &c[i])
        c[i] = (char)i;
    upc_barrier;
    for (long i = 0; i < 1000 * THREADS; i += 999)
        CHECK_EQ(c[i], (char)i);
    /* Bounds that are shared objects, and loops inside functions called with pointers. */
    static shared int limit = 20;
    count = 0;
    upc_forall (int i = 0; i < limit; i++; i)
        count++;
    expected = 0;
    for (int i = 0; i < 20; i++)
        expected += i % THREADS == MYTHREAD;
    CHECK_EQ(count, expected);
    PASS();
}
