// The sizeof family: values, constants where they have to be, operands not evaluated.
// static: yes
#include "check.h"

shared int a[7 * THREADS];
shared [3] double b[5 * THREADS][2];
shared [] char c[100];
shared [*] short d[9 * THREADS];
struct s {
    char c;
    long l;
};
shared [2] struct s e[THREADS];
shared int x;

enum { BLOCK_OF_B = upc_blocksizeof(b), ELEMENT_OF_B = upc_elemsizeof(b) };
static char local_b[upc_localsizeof(b)];
static int element_of_e[upc_elemsizeof(e)];
shared [upc_blocksizeof(b)] int like_b[3 * THREADS];

static int touched;
static int touch(void) { return touched++; }

int main(void)
{
    CHECK_EQ(sizeof a, 7 * THREADS * sizeof(int));
    CHECK_EQ(sizeof(b), 10 * THREADS * sizeof(double));
    CHECK_EQ(sizeof c, 100);
    CHECK_EQ(sizeof b[0], 2 * sizeof(double));
    CHECK_EQ(sizeof(shared [4] int[4 * THREADS]), 4 * THREADS * sizeof(int));
    CHECK_EQ(BLOCK_OF_B, 3);
    CHECK_EQ(ELEMENT_OF_B, 8);
    CHECK_EQ(upc_blocksizeof(a), 1);
    CHECK_EQ(upc_blocksizeof(c), 0);
    CHECK_EQ(upc_blocksizeof(d), 9);
    CHECK_EQ(upc_blocksizeof e, 2);
    CHECK_EQ(upc_blocksizeof(shared [6] int), 6);
    CHECK_EQ(upc_blocksizeof(x), 1);
    CHECK_EQ(upc_elemsizeof(c), 1);
    CHECK_EQ(upc_elemsizeof(d), 2);
    CHECK_EQ(upc_elemsizeof e, sizeof(struct s));
    CHECK_EQ(sizeof element_of_e, sizeof(struct s) * sizeof(int));
    CHECK_EQ(upc_localsizeof(a), 7 * sizeof(int));
    CHECK_EQ(upc_localsizeof(c), 100);
    CHECK_EQ(upc_localsizeof(d), 9 * sizeof(short));
    CHECK_EQ(upc_localsizeof(x), sizeof(int));
    CHECK(sizeof local_b >= upc_affinitysize(sizeof b, 3 * sizeof(double), 0));
    CHECK(sizeof local_b <= upc_affinitysize(sizeof b, 3 * sizeof(double), 0) + 32);
    CHECK(upc_localsizeof(e) >= upc_affinitysize(sizeof e, 2 * sizeof(struct s), 0));
    CHECK_EQ(upc_blocksizeof(like_b), 3);
    CHECK_EQ(sizeof a[touch()] + upc_elemsizeof(a[touch()]) + upc_blocksizeof(b[touch()]) +
                 upc_localsizeof(a[touch()]),
             4 + 4 + 3 + 4);
    CHECK_EQ(touched, 0);
#define IS_SIZE(e) _Generic(e, size_t: 1, default: 0)
    CHECK(IS_SIZE(sizeof a) && IS_SIZE(upc_localsizeof(a)) && IS_SIZE(upc_blocksizeof(a)) && IS_SIZE(upc_elemsizeof(a)));
    switch (8) {
    case upc_elemsizeof(b):
        break;
    default:
        CHECK(0);
    }
    PASS();
}
