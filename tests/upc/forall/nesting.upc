// Only the outermost loop with an affinity deals out; inner ones, also in called functions, run
// as if they said `continue`.
// static: yes
#include "check.h"

shared int a[6 * THREADS];

static int inner_count(int n)
{
    int count = 0;
    upc_forall (int j = 0; j < n; j++; j)
        count++;
    return count;
}
static int two_levels(int n)
{
    int count = 0;
    upc_forall (int j = 0; j < n; j++; &a[j])
        count += inner_count(n);
    return count;
}
static int leaves_early(int n)
{
    upc_forall (int j = 0; j < n; j++; continue)
        if (j == 3)
            return j;
    return -1;
}

int main(void)
{
    const int n = 6 * THREADS;
    CHECK_EQ(inner_count(n), 6);
    int bodies = 0, inner = 0;
    upc_forall (int i = 0; i < n; i++; i) {
        bodies++;
        upc_forall (int j = 0; j < n; j++; j)
            inner++;
        CHECK_EQ(inner_count(n), n);
        CHECK_EQ(two_levels(n), n * n);
    }
    CHECK_EQ(bodies, 6);
    CHECK_EQ(inner, 6 * n);
    CHECK_EQ(inner_count(n), 6); /* control comes back */
    CHECK_EQ(two_levels(n), 6 * n);

    /* An outer `continue` does not control. */
    inner = 0;
    upc_forall (int i = 0; i < n; i++; continue)
        upc_forall (int j = 0; j < n; j++; &a[j])
            inner++;
    CHECK_EQ(inner, 6 * n);
    upc_forall (int i = 0; i < n; i++;)
        CHECK_EQ(inner_count(n), 6);

    /* A body that ends by `continue` gives control back too. */
    inner = 0;
    upc_forall (int i = 0; i < n; i++; i) {
        if (i % 2)
            continue;
        inner++;
    }
    CHECK_EQ(inner_count(n), 6);
    CHECK_EQ(leaves_early(n), 3);
    CHECK_EQ(inner_count(n), 6);
    PASS();
}
