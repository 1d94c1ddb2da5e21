// The qualifier binds to the innermost element through typedefs, and works in every position.
// static: yes
#include "check.h"

typedef int row[10];
shared [3] row through[3 * THREADS];
shared [3] int plain[3 * THREADS][10];

typedef shared [4] int blocked;
blocked by_typedef[8 * THREADS];
typedef shared int vector[3 * THREADS];
vector v;

int shared after[THREADS];
int const shared [2] mixed[2 * THREADS];
const shared [2] int other_way[2 * THREADS];
long unsigned shared [5] long_words[10 * THREADS];

int main(void)
{
    CHECK_EQ(sizeof through, sizeof plain);
    CHECK_EQ(upc_blocksizeof(through), 3);
    CHECK_EQ(upc_elemsizeof(through), sizeof(int));
    for (int i = 0; i < 3 * THREADS; i++)
        for (int j = 0; j < 10; j++) {
            CHECK_EQ(upc_threadof(&through[i][j]), upc_threadof(&plain[i][j]));
            CHECK_EQ(upc_phaseof(&through[i][j]), (10 * i + j) % 3);
        }
    CHECK_EQ(upc_blocksizeof(by_typedef), 4);
    CHECK_EQ(upc_blocksizeof(blocked), 4);
    CHECK_EQ(upc_threadof(&by_typedef[4]), 1 % THREADS);
    CHECK_EQ(upc_threadof(&v[1]), 1 % THREADS);
    CHECK_EQ(sizeof v, 3 * THREADS * sizeof(int));
    after[MYTHREAD] = MYTHREAD;
    upc_barrier;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(after[i], i);
    for (int i = 0; i < 2 * THREADS; i++) {
        CHECK_EQ(mixed[i], 0);
        CHECK_EQ(upc_threadof((shared void *)&mixed[i]), i / 2);
        CHECK_EQ(upc_threadof((shared void *)&other_way[i]), i / 2);
    }
    CHECK_EQ(upc_blocksizeof(long_words), 5);
    CHECK_EQ(upc_elemsizeof(long_words), 8);
    PASS();
}
