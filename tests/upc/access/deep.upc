// Members of arrays of structs in structs, through every spelling.
// static: yes
// threads: 1 2 3
#include "check.h"
#include <string.h>

struct leaf {
    char name[8];
    int value[3];
};
struct branch {
    struct leaf leaf[2];
    struct {
        long pad;
        struct leaf one;
    } in[2];
    shared struct branch *next;
    shared [] int *values;
};
shared [2] struct branch tree[4 * THREADS];

int main(void)
{
    const int n = 4 * THREADS;
    upc_forall (int i = 0; i < n; i++; &tree[i]) {
        struct branch *mine = (struct branch *)&tree[i];
        strcpy(mine->leaf[1].name, "leaf");
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++) {
                tree[i].leaf[j].value[k] = 100 * i + 10 * j + k;
                (&tree[i])->in[j].one.value[k] = -(100 * i + 10 * j + k);
            }
        tree[i].next = (shared struct branch *)&tree[(i + 1) % n];
        tree[i].values = tree[i].leaf[1].value;
    }
    upc_barrier;
    for (int i = 0; i < n; i++) {
        shared [2] struct branch *p = &tree[i];
        CHECK_EQ(p->leaf[1].value[2], 100 * i + 12);
        CHECK_EQ((*p).leaf[0].value[1], 100 * i + 1);
        CHECK_EQ(tree[i].in[1].one.value[0], -(100 * i + 10));
        CHECK_EQ(*(p->in[0].one.value + 2), -(100 * i + 2));
        CHECK_EQ(2 [p->leaf[0].value], 100 * i + 2);
        CHECK_EQ(*(tree + i)->leaf[1].value, 100 * i + 10);
        CHECK_EQ(p->leaf[1].name[3], 'f');
        CHECK_EQ(p->values[1], 100 * i + 11);
        CHECK_EQ(*p->next->values, 100 * ((i + 1) % n) + 10);
        CHECK_EQ(p->next->next->leaf->value[1], 100 * ((i + 2) % n) + 1);
        shared [] struct leaf *l = p->leaf;
        CHECK_EQ(l[1].value[1], 100 * i + 11);
        CHECK_EQ((l + 1)->value[0], 100 * i + 10);
        shared [] struct leaf *q = &p->in[1].one;
        CHECK_EQ(q->value[2], -(100 * i + 12));
        const struct leaf copy = p->in[1].one;
        CHECK_EQ(copy.value[1], -(100 * i + 11));
        CHECK_EQ(p->leaf[0].value[(p->leaf[1].value[1] - 10) % 100], 100 * i + 1);
        char name[8];
        upc_memget(name, p->leaf[1].name, 8);
        CHECK(strcmp(name, "leaf") == 0);
        CHECK_EQ(sizeof p->leaf, 2 * sizeof(struct leaf));
        CHECK_EQ(sizeof(*p->in), sizeof(long) + sizeof(struct leaf) + 4);
    }
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        tree[0].leaf[1] = tree[n - 1].in[0].one;
        tree[1].leaf[0] = (struct leaf){"new", {1, 2, 3}};
        tree[2].in[1].one.value[1] += tree[1].leaf[0].value[2]++;
        tree[3].in[0] = tree[2].in[1];
    }
    upc_barrier;
    CHECK_EQ(tree[0].leaf[1].value[2], -(100 * (n - 1) + 2));
    CHECK_EQ(tree[1].leaf[0].value[2], 4);
    CHECK_EQ(tree[2].in[1].one.value[1], -211 + 3);
    CHECK_EQ(tree[3].in[0].one.value[1], -211 + 3);
    PASS();
}
