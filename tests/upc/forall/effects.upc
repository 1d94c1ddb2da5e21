// Everybody evaluates all clauses in every iteration, the affinity once; `continue` and the loop
// variable behave as in C.
// static: yes
#include "check.h"

shared [2] int a[10 * THREADS];
static int inits, conditions, steps, affinities;
static int start(void) { return inits++, 0; }
static int less(int i, int n) { return conditions++, i < n; }
static int asked(int i) { return affinities++, i; }
static shared [2] int *place(int i) { return affinities++, &a[i]; }

int main(void)
{
    const int n = 10 * THREADS;
    int i, bodies = 0;
    upc_forall (i = start(); less(i, n); i++, steps++; asked(i))
        bodies++;
    CHECK_EQ(inits, 1);
    CHECK_EQ(conditions, n + 1);
    CHECK_EQ(steps, n);
    CHECK_EQ(affinities, n);
    CHECK_EQ(bodies, 10);
    CHECK_EQ(i, n);
    affinities = bodies = 0;
    upc_forall (i = 0; i < n; i++; place(i))
        bodies++;
    CHECK_EQ(affinities, n);
    CHECK_EQ(bodies, 10);
    /* An affinity with a side effect on the loop variable. */
    bodies = 0;
    upc_forall (i = 0; i < n; i++; i++)
        bodies++;
    CHECK_EQ(i, n);
    /* Even numbers 0, 2, ..., n - 2 were asked for. */
    int expected = 0;
    for (int k = 0; k < n; k += 2)
        expected += k % THREADS == MYTHREAD;
    CHECK_EQ(bodies, expected);

    /* continue goes to the increment. */
    int sum = 0;
    upc_forall (i = 0; i < n; i++; &a[i]) {
        if (i % 2)
            continue;
        a[i] = i;
        sum++;
    }
    CHECK_EQ(sum, 5);
    CHECK_EQ(i, n);

    /* The body changes the loop variable: on its thread only, as written. */
    int seen = 0;
    upc_forall (i = 0; i < n; i++; MYTHREAD) {
        seen++;
        i++;
    }
    CHECK_EQ(seen, n / 2);

    /* The variable of an outer scope is the same after a loop with its own. */
    i = 77;
    upc_forall (int i = 0; i < n; i++; i)
        ;
    CHECK_EQ(i, 77);
    i = 0;
    upc_forall (;;;) {
        if (++i == 5)
            break; /* every thread leaves */
    }
    CHECK_EQ(i, 5);
    PASS();
}
