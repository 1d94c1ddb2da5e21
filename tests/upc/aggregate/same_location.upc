// With -fupc-aggregate, a thread's accesses to one location keep their order: what it reads is what it wrote last.
// threads: 2 3
// flags: -fupc-aggregate
// env: GASNET_NEIGHBORHOOD=off
#include "../check.h"
#include <upc_atomic.h>
#include <upc_nb.h>
#include <upc_relaxed.h>

#define N 600
struct pair {
    int a, b, c;
};
struct long_one {
    char bytes[100];
};
shared [N] long words[N * THREADS];
shared [8] char bytes[8 * THREADS];
shared struct pair pairs[THREADS];
shared struct long_one long_ones[THREADS];
shared void *shared pointers[THREADS];
struct bits {
    unsigned a : 5, b : 11;
};
shared struct bits fields[THREADS];

/* Transfers that continue after their call, of more bytes than travel together. */
static void nonblocking(shared [] long *there)
{
    enum { MANY = 20 };
    long got[MANY], many[MANY];
    for (int i = 0; i < 100; i++) {
        const int k = i % MANY;
        for (int j = 0; j < MANY; j++)
            many[j] = 1000 * i + j;
        there[k] = i;
        upc_sync(upc_memget_nb(got, there, sizeof got));
        CHECK_EQ(got[k], i);
        there[k] = i + 1;
        upc_memget_nbi(got, there, sizeof got);
        upc_synci();
        CHECK_EQ(got[k], i + 1);
        there[k] = -1;
        upc_sync(upc_memput_nb(there, many, sizeof many));
        CHECK_EQ(there[k], many[k]);
        there[k] = -1;
        upc_memput_nbi(there, many, sizeof many);
        upc_synci();
        CHECK_EQ(there[k], many[k]);
        there[k] = -1;
        upc_sync(upc_memset_nb(there, 0, sizeof many));
        CHECK_EQ(there[k], 0);
        there[k] = -1;
        upc_memset_nbi(there, 0, sizeof many);
        upc_synci();
        CHECK_EQ(there[k], 0);
        there[k] = -1;
        upc_memset(there, 0, sizeof many);
        CHECK_EQ(there[k], 0);
        there[k] = -1;
        upc_memput(there, many, sizeof many);
        CHECK_EQ(there[k], many[k]);
        there[k] = -1;
        CHECK_EQ(there[k], -1);
    }
}

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    shared [] long *there = (shared [] long *)&words[right * N];
    upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_SET | UPC_ADD | UPC_MULT | UPC_GET, 0);
    /* Many batches, each of whose writes is written over in the next. */
    for (long k = 0; k < 40; k++)
        for (long i = 0; i < N; i++)
            there[i] = k * N + i;
    for (long i = 0; i < N; i++)
        CHECK_EQ(there[i], 39 * N + i);
    CHECKED("last-write");
    for (long i = 0; i < N; i++) {
        there[i] = i;
        there[i] += 1;
        CHECK_EQ(there[i], i + 1);
        long more = 5, got;
        upc_atomic_relaxed(domain, NULL, UPC_MULT, &there[i], &more, NULL);
        upc_atomic_relaxed(domain, NULL, UPC_ADD, &there[i], &more, NULL);
        there[(i + 7) % N] = i;
        upc_atomic_relaxed(domain, &got, UPC_GET, &there[i], NULL, NULL);
        CHECK_EQ(got, 5 * (i + 1) + 5);
        CHECK_EQ(there[(i + 7) % N], i);
    }
    CHECKED("operations");
    nonblocking(there);
    CHECKED("nonblocking");
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 8; k++)
            bytes[8 * right + k] = (char)(i + k);
        char got[8];
        upc_memget(got, &bytes[8 * right], 8);
        for (int k = 0; k < 8; k++)
            CHECK_EQ(got[k], (char)(i + k));
        bytes[8 * right + 3] = 7;
        upc_memset(&bytes[8 * right], 9, 3);
        CHECK_EQ(bytes[8 * right + 3], 7);
        CHECK_EQ(bytes[8 * right + 2], 9);
        struct pair p = {i, i + 1, i + 2};
        pairs[right] = p;
        pairs[right].b = -1;
        p = pairs[right];
        CHECK(p.a == i && p.b == -1 && p.c == i + 2);
        struct long_one l;
        for (int k = 0; k < 100; k++)
            l.bytes[k] = (char)(i * k);
        long_ones[right].bytes[50] = 1;
        long_ones[right] = l;
        long_ones[right].bytes[99] = 5;
        l = long_ones[right];
        CHECK(l.bytes[50] == (char)(i * 50) && l.bytes[98] == (char)(i * 98) && l.bytes[99] == 5);
        pointers[right] = &words[i % THREADS];
        CHECK(pointers[right] == &words[i % THREADS]);
        fields[right].a = i % 32;
        fields[right].b = i;
        CHECK(fields[right].a == i % 32 && fields[right].b == i);
    }
    CHECKED("sizes");
    upc_barrier;
    /* A copy between two others reads what was written. */
    if (THREADS > 2 && MYTHREAD == 0) {
        words[N] = 77;
        upc_memcpy(&words[2 * N], &words[N], sizeof(long));
        CHECK_EQ(words[2 * N], 77);
        words[2 * N] = 78;
        upc_memcpy(&words[N], &words[2 * N], sizeof(long));
        CHECK_EQ(words[N], 78);
    }
    CHECKED("copies");
    PASS();
}
