// A hash table under locks, columns of a neighbour's grid by strides and lists, and work that is stolen.
#include "../check.h"
#include <upc_relaxed.h>
#include <bupc_extensions.h>
#include <upc_atomic.h>
#include <string.h>

#define SLOTS 257
#define KEYS 200
#define SIDE 64
#define PIECES 50

typedef struct {
    long key, value;
} entry;
shared [SLOTS] entry table[SLOTS * THREADS];
upc_lock_t *shared locks[THREADS];
shared [] char *shared grid[THREADS];
shared long next[THREADS], taken[THREADS];

static long place(long key) { return (key * 2654435761L >> 4) % SLOTS; }

static void add(long key, long value)
{
    const int t = (int)(key % THREADS);
    upc_lock(locks[t]);
    for (long s = place(key);; s = (s + 1) % SLOTS) {
        entry e = table[t * SLOTS + s];
        if (e.key == 0 || e.key == key) {
            e.value += value;
            e.key = key;
            table[t * SLOTS + s] = e;
            break;
        }
    }
    upc_unlock(locks[t]);
}

static long find(long key)
{
    const int t = (int)(key % THREADS);
    for (long s = place(key);; s = (s + 1) % SLOTS) {
        const entry e = table[t * SLOTS + s];
        if (e.key == key || e.key == 0)
            return e.value;
    }
}

static void columns(void)
{
    const int right = (MYTHREAD + 1) % THREADS, left = (MYTHREAD + THREADS - 1) % THREADS;
    char column[SIDE * 4], back[SIDE * 4];
    for (int i = 0; i < SIDE * 4; i++)
        column[i] = (char)(MYTHREAD * 31 + i);
    memset((char *)grid[MYTHREAD], 77, SIDE * SIDE);
    upc_barrier;
    bupc_handle_t strided =
        bupc_memput_fstrided_async(grid[right] + 8, 4, SIDE, SIDE, column, SIDE * 4, SIDE * 4, 1);
    shared void *to[4];
    const void *from[4];
    for (int i = 0; i < 4; i++) {
        to[i] = grid[right] + SIDE * i * 3 + 32;
        from[i] = column + i * 16;
    }
    bupc_handle_t listed = bupc_memput_ilist_async(4, to, 16, 4, from, 16);
    bupc_waitsync(strided);
    bupc_waitsync(listed);
    upc_barrier;
    const char *in = (char *)grid[MYTHREAD];
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++) {
            char want = 77;
            if (c >= 8 && c < 12)
                want = (char)(left * 31 + r * 4 + c - 8);
            else if (c >= 32 && c < 48 && r % 3 == 0 && r < 12)
                want = (char)(left * 31 + r / 3 * 16 + c - 32);
            CHECK_EQ(in[r * SIDE + c], want);
        }
    strided = bupc_memget_fstrided_async(back, SIDE * 4, SIDE * 4, 1, grid[right] + 8, 4, SIDE, SIDE);
    bupc_waitsync(strided);
    CHECK(memcmp(back, column, SIDE * 4) == 0);
}

static void work(void)
{
    upc_atomicdomain_t *counts = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD, 0);
    long one = 1, piece, sum = 0;
    for (int v = 0; v < THREADS; v++) {
        const int t = (MYTHREAD + v) % THREADS;
        for (;;) {
            upc_atomic_relaxed(counts, &piece, UPC_ADD, &next[t], &one, 0);
            if (piece >= PIECES)
                break;
            sum += piece + t * 1000;
        }
    }
    taken[MYTHREAD] = sum;
    upc_barrier;
    long all = 0, want = 0;
    for (int t = 0; t < THREADS; t++) {
        all += taken[t];
        want += PIECES * (PIECES - 1) / 2 + PIECES * 1000L * t;
    }
    CHECK_EQ(all, want);
}

int main(void)
{
    locks[MYTHREAD] = upc_global_lock_alloc();
    grid[MYTHREAD] = upc_alloc(SIDE * SIDE);
    upc_barrier;
    for (long key = 1; key <= KEYS; key++)
        add(key, key + MYTHREAD);
    upc_barrier;
    for (long key = 1; key <= KEYS; key++)
        CHECK_EQ(find(key), key * THREADS + (long)THREADS * (THREADS - 1) / 2);
    columns();
    work();
    PASS();
    return 0;
}
