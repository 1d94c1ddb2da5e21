// Whole structs and unions between shared and private memory, large ones too.
// threads: 1 2 3 4
#include "check.h"
#include <string.h>

struct big {
    int head;
    char body[100000];
    double tail;
};
union either {
    int i;
    double d;
    char c[12];
};
shared struct big big[THREADS];
shared union either un[3 * THREADS];
struct wrap {
    struct {
        int m[2][3];
    } in;
};
shared [2] struct wrap w[4 * THREADS];

static struct big local, other;

int main(void)
{
    local.head = MYTHREAD;
    memset(local.body, 'a' + MYTHREAD % 26, sizeof local.body);
    local.tail = MYTHREAD / 4.0;
    const int right = (MYTHREAD + 1) % THREADS, left = (MYTHREAD + THREADS - 1) % THREADS;
    big[right] = local;
    upc_barrier;
    other = big[MYTHREAD];
    CHECK_EQ(other.head, left);
    CHECK_EQ(other.body[99999], 'a' + left % 26);
    CHECK(other.tail == left / 4.0);
    CHECK_EQ(big[right].body[50000], 'a' + MYTHREAD % 26);
    upc_barrier;
    /* Shared to shared, on other threads. */
    if (MYTHREAD == 0) {
        big[THREADS - 1] = big[THREADS / 2];
        big[0] = big[THREADS - 1] = big[THREADS / 2];
        CHECK_EQ(big[0].head, big[THREADS / 2].head);
    }
    upc_barrier;
    un[MYTHREAD].d = 1.5;
    union either e = un[MYTHREAD];
    CHECK(e.d == 1.5);
    strcpy(e.c, "hello");
    un[MYTHREAD + THREADS] = e;
    CHECK_EQ(un[MYTHREAD + THREADS].c[4], 'o');
    for (int i = 0; i < 4 * THREADS; i++)
        if (i % THREADS == MYTHREAD)
            for (int k = 0; k < 6; k++)
                w[i].in.m[k / 3][k % 3] = 10 * i + k;
    upc_barrier;
    for (int i = 0; i < 4 * THREADS; i++) {
        struct wrap copy = w[i];
        for (int k = 0; k < 6; k++) {
            CHECK_EQ(copy.in.m[k / 3][k % 3], 10 * i + k);
            CHECK_EQ(w[i].in.m[k / 3][k % 3], 10 * i + k);
        }
        shared [] int *row = w[i].in.m[1];
        CHECK_EQ(row[2], 10 * i + 5);
        shared [] int (*rows)[3] = w[i].in.m;
        CHECK_EQ(rows[1][0], 10 * i + 3);
    }
    PASS();
}
