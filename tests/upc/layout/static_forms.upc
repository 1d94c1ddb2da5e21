// Bounds that only the static environment allows, THREADS as a constant everywhere.
// static: only
#include "check.h"

shared int ten[10];
shared int plus[10 + THREADS];
shared [2] int square[THREADS][4 * THREADS];
shared [] int indefinite[THREADS];
shared [THREADS] int by_threads[3 * THREADS * THREADS];
shared [*] int star[10];
int plain[THREADS];
#if THREADS < 1
#error no threads
#endif
#if !defined __UPC_STATIC_THREADS__ || defined __UPC_DYNAMIC_THREADS__
#error environment
#endif
enum { COUNT = THREADS };

int main(void)
{
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(upc_threadof(&ten[i]), i % THREADS);
        CHECK_EQ(upc_threadof(&star[i]), i / ((10 + THREADS - 1) / THREADS));
    }
    CHECK_EQ(sizeof plus, (10 + THREADS) * sizeof(int));
    CHECK_EQ(upc_blocksizeof(star), (10 + THREADS - 1) / THREADS);
    CHECK_EQ(upc_blocksizeof(by_threads), THREADS);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 4 * THREADS; j++)
            CHECK_EQ(upc_threadof(&square[i][j]), (i * 4 * THREADS + j) / 2 % THREADS);
    CHECK_EQ(upc_threadof(&indefinite[THREADS - 1]), 0);
    CHECK_EQ(upc_threadof(&by_threads[THREADS]), 1 % THREADS);
    CHECK_EQ(sizeof plain / sizeof plain[0], COUNT);
    CHECK_EQ(upc_localsizeof(ten), (10 + THREADS - 1) / THREADS * sizeof(int));
    switch (MYTHREAD) {
    case THREADS:
        CHECK(0);
    default:
        break;
    }
    PASS();
}
