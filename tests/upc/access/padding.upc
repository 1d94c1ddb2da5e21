// Structures are copied with their padding: programs compare them by bytes.
// threads: 1 3
#include "check.h"
#include <string.h>
struct padded {
    char c;
    short s;
    int i;
    long long l;
    int list[5];
};
shared struct padded a[2 * THREADS];
strict shared struct padded b[2 * THREADS];
static void fill(struct padded *p, int i)
{
    memset(p, 0, sizeof *p);
    p->c = (char)i;
    p->s = (short)(i + 1);
    p->l = i + 2;
    p->list[4] = i + 3;
}
int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    fill((struct padded *)&a[MYTHREAD], MYTHREAD);
    upc_barrier;
    for (int i = 0; i < THREADS; i++) {
        struct padded got = a[i], expected;
        fill(&expected, i);
        CHECK(memcmp(&got, &expected, sizeof got) == 0);
    }
    struct padded mine, back;
    fill(&mine, 50 + MYTHREAD);
    a[THREADS + right] = mine;
    b[right] = a[THREADS + right];
    back = b[right];
    CHECK(memcmp(&back, &mine, sizeof back) == 0);
    PASS();
}
