// Pointers-to-shared in structs, arrays, unions, shared memory, arguments, results, varargs.
// static: yes
#include "check.h"
#include <stdarg.h>

shared [3] int a[6 * THREADS];
struct holder {
    shared [3] int *p;
    int pad;
    struct {
        shared void *v;
    } in;
};
shared struct holder shared_holder;
shared [3] int *shared board[2][THREADS];
shared [3] int *private_table[4];

static shared [3] int *pass(shared [3] int *p) { return p + 1; }
static shared [3] int *later(shared [3] int **p) { return (*p)++; }

static struct holder make(shared [3] int *p)
{
    struct holder h = {p, 1, {p}};
    return h;
}

static int sum_of(int count, ...)
{
    va_list args;
    va_start(args, count);
    int sum = 0;
    for (int i = 0; i < count; i++) {
        shared [3] int *p = va_arg(args, shared [3] int *);
        sum += *p;
    }
    struct holder h = va_arg(args, struct holder);
    sum += *h.p;
    va_end(args);
    return sum;
}

int main(void)
{
    for (int i = MYTHREAD; i < 6 * THREADS; i += THREADS)
        a[i] = i;
    upc_barrier;
    shared [3] int *p = pass(a);
    CHECK_EQ(p - a, 1);
    CHECK_EQ(*later(&p), 1);
    CHECK_EQ(*p, 2);
    CHECK_EQ(*pass(pass(p)), 4);
    struct holder h = make(&a[4]);
    CHECK_EQ(*h.p, 4);
    CHECK_EQ(upc_phaseof(h.in.v), 1);
    CHECK_EQ(h.p[1], 5);
    CHECK_EQ(sum_of(3, &a[1], a + 2, &a[5], h), 1 + 2 + 5 + 4);
    private_table[2] = &a[3];
    CHECK_EQ(*private_table[2], 3);
    CHECK(private_table[0] == NULL);

    board[0][MYTHREAD] = &a[MYTHREAD];
    board[1][MYTHREAD] = &a[MYTHREAD + THREADS];
    if (MYTHREAD == THREADS - 1)
        shared_holder = h;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        CHECK_EQ(*board[0][t], t);
        CHECK_EQ(*board[1][t], t + THREADS);
        CHECK_EQ(board[1][t] - board[0][t], THREADS);
    }
    CHECK_EQ(*shared_holder.p, 4);
    CHECK_EQ(shared_holder.pad, 1);
    CHECK(shared_holder.in.v == &a[4]);
    upc_barrier;
    /* Arithmetic on a pointer that is itself shared. */
    if (MYTHREAD == 0) {
        board[0][THREADS - 1] += 2;
        shared_holder.p++;
        CHECK_EQ(*shared_holder.p++, 5);
    }
    upc_barrier;
    CHECK_EQ(*board[0][THREADS - 1], THREADS - 1 + 2);
    CHECK(shared_holder.p - a == 6);
    shared [3] int *either = MYTHREAD % 2 ? &a[1] : a;
    CHECK_EQ(*either, MYTHREAD % 2);
    either = MYTHREAD % 2 ? &a[1] : NULL;
    CHECK_EQ(either != NULL, MYTHREAD % 2);
    CHECK_EQ(*(0, &a[2]), 2);
    PASS();
}
