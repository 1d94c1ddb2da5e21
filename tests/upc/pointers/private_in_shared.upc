// Pointers to private memory in shared objects, and what is written through them: one level, two levels, in structures, with
// every qualifier, several in a row.
// static: yes
// threads: 1 3
#include "check.h"

typedef struct node {
    int v;
    struct node *next;
    int list[3];
} node;
typedef int row[3];

static int i, j;
static node first, second;
static int *middle = &i;
static row rows[2];
static int (*function)(int);
static int next_of(int x) { return x + 1; }

int *shared pi;
int **shared ppi;
int *volatile *shared pvi;
const int *shared pc;
int *shared volatile pv;
int *shared strict ps;
int *strict shared volatile psv;
node *shared head[THREADS];
row *shared pr[THREADS];
int (*shared volatile fv[THREADS])(int);
int (*shared f[THREADS])(int);
shared struct holder {
    int *p;
    node *n;
    node **nn;
    char c;
} h[THREADS];
const shared struct holder *rh;

static void one_level(void)
{
    pi = &i;
    *pi = 3;
    *pi = 4;
    CHECK_EQ(i, 4);
    *pi += *pi + (*pi)++;
    pc = &i;
    CHECK_EQ(*pc + *pc, 2 * i);
    pv = &i;
    *pv = 5;
    *pv = *pv + 1;
    CHECK_EQ(i, 6);
    ps = &i;
    *ps = 7;
    ++*ps;
    CHECK_EQ(i, 8);
    psv = &i;
    *psv = 9;
    *psv = *psv + 1;
    CHECK_EQ(i, 10);
}

static void two_levels(void)
{
    ppi = &middle;
    **ppi = 3;
    **ppi = **ppi + 1;
    CHECK_EQ(i, 4);
    *ppi = &j;
    **ppi = 5;
    CHECK_EQ(j, 5);
    *ppi = &i;
    pvi = &middle;
    **pvi = 6;
    **pvi += 1;
    CHECK_EQ(i, 7);
}

int main(void)
{
    for (int turn = 0; turn < THREADS; turn++) {
        if (turn == MYTHREAD) {
            one_level();
            two_levels();
        }
        upc_barrier;
    }
    head[MYTHREAD] = &first;
    head[MYTHREAD]->v = 1;
    head[MYTHREAD]->next = &second;
    head[MYTHREAD]->next->v = 2;
    head[MYTHREAD]->next->list[head[MYTHREAD]->v] = 3;
    CHECK(first.v == 1 && second.v == 2 && second.list[1] == 3);
    pr[MYTHREAD] = rows;
    pr[MYTHREAD][0][1] = 4;
    pr[MYTHREAD][1][2] = pr[MYTHREAD][0][1] + 1;
    (*pr[MYTHREAD])[2] = 6;
    CHECK(rows[0][1] == 4 && rows[1][2] == 5 && rows[0][2] == 6);
    fv[MYTHREAD] = next_of;
    f[MYTHREAD] = fv[MYTHREAD];
    CHECK_EQ(fv[MYTHREAD](1) + f[MYTHREAD](2), 5);
    h[MYTHREAD].p = &j;
    h[MYTHREAD].n = &first;
    h[MYTHREAD].nn = &first.next;
    *h[MYTHREAD].p = 8;
    h[MYTHREAD].n->v = 9;
    (*h[MYTHREAD].nn)->v = 10;
    h[MYTHREAD].n->next->list[0] = *h[MYTHREAD].p + 3;
    CHECK(j == 8 && first.v == 9 && second.v == 10 && second.list[0] == 11);
    rh = &h[MYTHREAD];
    *rh->p = 12;
    rh->n->v = 13;
    (*rh->nn)->v = 14;
    CHECK(j == 12 && first.v == 13 && second.v == 14);
    (void)function;
    PASS();
}
