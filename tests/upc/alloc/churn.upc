// Many live objects of all sizes, freed in random order, by their owners and by others.
// threads: 1 2 4
#include "check.h"
#include <string.h>

#define SLOTS 64
typedef struct {
    shared [] unsigned char *p;
    int size;
    unsigned char mark;
} slot;
shared [SLOTS] slot table[THREADS][SLOTS];

static unsigned state;
static unsigned next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

int main(void)
{
    state = 12345u + MYTHREAD;
    for (int round = 0; round < 4; round++) {
        for (int step = 0; step < 2000; step++) {
            const int at = next() % SLOTS;
            slot s = table[MYTHREAD][at];
            if (s.p) {
                for (int i = 0; i < s.size; i += s.size / 8 + 1)
                    CHECK_EQ(s.p[i], s.mark);
                CHECK_EQ(s.p[s.size - 1], s.mark);
                upc_free(s.p);
                s.p = NULL;
            } else {
                s.size = 1 + next() % (1 << next() % 14);
                s.mark = next();
                s.p = (shared [] unsigned char *)(next() % 8 ? upc_alloc(s.size)
                                                              : upc_global_alloc(1, s.size));
                upc_memset(s.p, s.mark, s.size);
            }
            table[MYTHREAD][at] = s;
        }
        upc_barrier;
        /* The neighbour's objects: look, and free half of them. */
        const int right = (MYTHREAD + 1) % THREADS;
        for (int at = 0; at < SLOTS; at++) {
            const slot s = table[right][at];
            if (!s.p)
                continue;
            CHECK_EQ(s.p[0], s.mark);
            CHECK_EQ(s.p[s.size - 1], s.mark);
            if (at % 2) {
                upc_free(s.p);
                table[right][at].p = NULL;
            }
        }
        upc_barrier;
    }
    PASS();
}
