// Copies of several pieces of any sizes, many under way at a time, against copies byte by byte in private memory.
// threads: 1 2 3
// static: no
// env: GASNET_NEIGHBORHOOD=off
// env: GASNET_CHECK=1
#include "../check.h"
#include <upc_relaxed.h>
#include <bupc_extensions.h>
#include <stdlib.h>
#include <string.h>

/* Each thread owns a slice of everybody's memory, which only it writes: a transfer stays in a lane of the slice. */
#define LANES 24
#define LANE 24576
#define MOST 150 /* more than are one transfer */
shared [] unsigned char *shared memory[THREADS];
static unsigned char *model[64], *priv, *priv_model;
static unsigned seed;

static unsigned any(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* Pieces that do not overlap, `total` bytes together, in a lane: offsets and lengths. */
static int cut(size_t total, size_t *at, size_t *len)
{
    int n = 0;
    size_t o = 0;
    while (total > 0) {
        size_t now = n == MOST - 1 ? total : 1 + any((unsigned)total / 8 + 1);
        o += any(20);
        at[n] = o;
        len[n++] = now;
        o += now;
        total -= now;
    }
    return n;
}

/* The oracle: bytes of one list of pieces in their order go to those of another. */
static void by_bytes(unsigned char *to, const size_t *ta, const size_t *tl, const unsigned char *from, const size_t *fa, const size_t *fl, size_t total)
{
    size_t i = 0, x = 0, j = 0, y = 0;
    while (total-- > 0) {
        while (x == tl[i]) i++, x = 0;
        while (y == fl[j]) j++, y = 0;
        to[ta[i] + x++] = from[fa[j] + y++];
    }
}

static size_t lane(int l) { return ((size_t)MYTHREAD * LANES + l) * LANE; }

static bupc_handle_t one(int l)
{
    const int what = any(3), other = any(THREADS), kind = any(4), third = any(THREADS);
    unsigned char *mine = priv + l * LANE, *mine_model = priv_model + l * LANE;
    shared [] unsigned char *there = memory[other] + lane(l);
    shared [] unsigned char *source = memory[third] + lane(l) + LANE / 2;
    unsigned char *there_model = model[other] + lane(l), *source_model = model[third] + lane(l) + LANE / 2;
    size_t ta[MOST], tl[MOST], fa[MOST], fl[MOST], total = 1 + any(LANE / 2 - 20 * MOST - 100);
    int tn, fn;
    if (kind == 0) {
        tn = cut(total, ta, tl);
        fn = cut(total, fa, fl);
    } else {
        /* equal pieces; of lists in any places, of the others at equal distances */
        const size_t len = 1 + any(40), gap = len + any(30), other_gap = len + any(30);
        tn = fn = 1 + any(MOST);
        total = tn * len;
        for (int i = 0; i < tn; i++) {
            tl[i] = fl[i] = len;
            ta[i] = kind == 1 ? (size_t)(tn - 1 - i) * gap : i * gap;
            fa[i] = i * other_gap;
        }
    }
    const size_t ts[1] = { tn > 1 ? ta[1] - ta[0] : 1 }, fs[1] = { fn > 1 ? fa[1] - fa[0] : 1 }, count[2] = { tl[0], tn };
    bupc_smemvec_t st[MOST], sf[MOST];
    bupc_pmemvec_t pt[MOST], pf[MOST];
    shared void *sti[MOST];
    shared const void *sfi[MOST];
    void *pti[MOST];
    const void *pfi[MOST];
    for (int i = 0; i < tn; i++) {
        st[i].addr = sti[i] = there + ta[i];
        pt[i].addr = pti[i] = mine + ta[i];
        st[i].len = pt[i].len = tl[i];
    }
    for (int i = 0; i < fn; i++) {
        sfi[i] = sf[i].addr = source + fa[i];
        pf[i].addr = mine + fa[i];
        pfi[i] = mine + fa[i];
        sf[i].len = pf[i].len = fl[i];
    }
    switch (what) {
    case 0:
        by_bytes(there_model, ta, tl, mine_model, fa, fl, total);
        switch (kind) {
        case 0: return bupc_memput_vlist_async(tn, st, fn, pf);
        case 1: return bupc_memput_ilist_async(tn, sti, tl[0], fn, pfi, fl[0]);
        case 2: return bupc_memput_fstrided_async(there, tl[0], ts[0], tn, mine, fl[0], fs[0], fn);
        default: return bupc_memput_strided_async(there, ts, mine, fs, count, 1);
        }
    case 1:
        by_bytes(mine_model, ta, tl, source_model, fa, fl, total);
        switch (kind) {
        case 0: return bupc_memget_vlist_async(tn, pt, fn, sf);
        case 1: return bupc_memget_ilist_async(tn, pti, tl[0], fn, sfi, fl[0]);
        case 2: return bupc_memget_fstrided_async(mine, tl[0], ts[0], tn, source, fl[0], fs[0], fn);
        default: return bupc_memget_strided_async(mine, ts, source, fs, count, 1);
        }
    default:
        by_bytes(there_model, ta, tl, source_model, fa, fl, total);
        switch (kind) {
        case 0: return bupc_memcpy_vlist_async(tn, st, fn, sf);
        case 1: return bupc_memcpy_ilist_async(tn, sti, tl[0], fn, sfi, fl[0]);
        case 2: return bupc_memcpy_fstrided_async(there, tl[0], ts[0], tn, source, fl[0], fs[0], fn);
        default: return bupc_memcpy_strided_async(there, ts, source, fs, count, 1);
        }
    }
}

int main(void)
{
    const size_t all = (size_t)THREADS * LANES * LANE;
    seed = 12345 + MYTHREAD;
    memory[MYTHREAD] = upc_alloc(all);
    priv = malloc(LANES * LANE);
    priv_model = malloc(LANES * LANE);
    for (size_t i = 0; i < LANES * LANE; i++)
        priv[i] = priv_model[i] = (unsigned char)any(256);
    for (int t = 0; t < THREADS; t++) {
        model[t] = malloc(all);
        for (size_t i = 0; i < all; i++)
            model[t][i] = (unsigned char)(t * 51 + i * 7);
    }
    for (size_t i = 0; i < all; i++)
        memory[MYTHREAD][i] = (unsigned char)(MYTHREAD * 51 + i * 7);
    upc_barrier;
    for (int round = 0; round < 20; round++) {
        bupc_handle_t handles[LANES];
        for (int l = 0; l < LANES; l++) {
            /* a relaxed write to a source that a copy reads next comes before it */
            const int t = any(THREADS);
            const size_t at = lane(l) + LANE / 2 + any(40);
            memory[t][at] = model[t][at] = (unsigned char)any(256);
            handles[l] = one(l);
        }
        for (int l = 0; l < LANES / 2; l++)
            if (any(2))
                bupc_waitsync(handles[l]);
            else
                while (!bupc_trysync(handles[l])) { }
        bupc_waitsync_all(handles + LANES / 2, LANES - LANES / 2);
        CHECK(memcmp(priv, priv_model, LANES * LANE) == 0);
        for (int t = 0; t < THREADS; t++)
            for (size_t i = 0; i < LANES * LANE; i += 1 + any(99))
                CHECK_EQ(memory[t][lane(0) + i], model[t][lane(0) + i]);
    }
    upc_barrier;
    /* Every thread wrote its slice of this memory: the owners of the slices look at them whole. */
    for (int t = 0; t < THREADS; t++) {
        unsigned char *copy = malloc(LANES * LANE);
        upc_memget(copy, memory[t] + lane(0), LANES * LANE);
        CHECK(memcmp(copy, model[t] + lane(0), LANES * LANE) == 0);
        free(copy);
    }
    PASS();
}
