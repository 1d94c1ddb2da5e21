// Loops over arrays that no cache holds: vectors in strips, each with a touch of the next pages.
// threads: 1 2 3
#include <upc_relaxed.h>
#include "check.h"

#define ROW 1027
#define ROWS 1100

shared [ROW] double a[ROWS * THREADS][ROW], b[ROWS * THREADS][ROW];
shared double c[ROWS * THREADS][ROW];
shared [5] float x[ROWS * ROW * THREADS * 2], y[ROWS * ROW * THREADS * 2];

int main(void)
{
    const int rows = ROWS * THREADS;
    const long n = 2L * ROWS * ROW * THREADS;
    upc_forall (int i = 0; i < rows; i++; &a[i][0])
        for (int j = 0; j < ROW; j++)
            a[i][j] = i + 2 * j;
    upc_forall (long i = 3; i < n - 2; i++; &x[i])
        x[i] = 7;
    upc_barrier;
    upc_forall (int i = 1; i < rows - 1; i++; &b[i][0])
        for (int j = 1; j < ROW - 1; j++)
            b[i][j] = a[i][j] + a[i - 1][j] - a[i + 1][j] + a[i][j - 1] - a[i][j + 1];
    for (int i = MYTHREAD; i < rows; i += 97)
        upc_forall (int j = 2; j < ROW; j++; &c[i][j])
            c[i][j] = j;
    upc_forall (long i = 1; i < n - 1; i++; &y[i])
        y[i] = x[i] * 0.5f + 1;
    upc_barrier;
    upc_forall (int i = 0; i < rows; i++; &b[i][0])
        for (int j = 0; j < ROW; j++)
            CHECK(b[i][j] == (i == 0 || i == rows - 1 || j == 0 || j == ROW - 1 ? 0 : i + 2 * j - 6));
    upc_forall (long i = 0; i < n; i++; &y[i]) {
        CHECK(x[i] == (i < 3 || i >= n - 2 ? 0 : 7));
        CHECK(y[i] == (i < 1 || i >= n - 1 ? 0 : x[i] * 0.5f + 1));
    }
    PASS();
}
