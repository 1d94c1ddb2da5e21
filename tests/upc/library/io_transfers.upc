// upc_io.h: each list transfer and each asynchronous one, both kinds of file pointer, what sizes and ends do.
#include <upc_io.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

enum { N = 40 };
shared [4] int a[N * THREADS], b[N * THREADS];
shared int pid;
static char name[100];
static upc_file_t *f;
static const long whole = N * sizeof(int);

/* The part of the file that belongs to thread t, by its number of bytes. */
static long part(int t) { return whole * t; }
static long wait_or_test(int test)
{
    int done = 0;
    long n = 0;
    if (!test)
        return upc_all_fwait_async(f);
    while (!done)
        n = upc_all_ftest_async(f, &done);
    return n;
}
static void clear(void *p) { memset(p, 0x55, whole); }

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    int out[N], in[N];
    if (MYTHREAD == 0)
        pid = getpid();
    upc_barrier;
    const char *dir = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/upc-io-transfers-%d", dir ? dir : "/tmp", (int)pid);
    f = upc_all_fopen(name, UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(f != NULL);

    /* Lists of private memory, written and read: pieces of other sizes in memory than in the file. */
    for (int async = 0; async < 3; async++) {
        for (int i = 0; i < N; i++)
            out[i] = 1000 * MYTHREAD + 100 * async + i;
        const struct upc_local_memvec from[3] = {{out + 1, 12}, {out + 10, 0}, {out + 20, 20}};
        const struct upc_filevec to[2] = {{part(MYTHREAD), 4}, {part(MYTHREAD) + 100, 28}};
        if (async) {
            upc_all_fwrite_list_local_async(f, 3, from, 2, to, 0);
            CHECK_EQ(wait_or_test(async - 1), 32);
        } else {
            CHECK_EQ(upc_all_fwrite_list_local(f, 3, from, 2, to, 0), 32);
        }
        CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), 0); /* lists leave the pointer alone */
        CHECK_EQ(upc_all_fsync(f), 0);
        clear(in);
        const struct upc_filevec source[2] = {{part(right), 4}, {part(right) + 100, 28}};
        const struct upc_local_memvec sink[2] = {{in + 3, 16}, {in + 30, 16}};
        if (async) {
            upc_all_fread_list_local_async(f, 2, sink, 2, source, 0);
            CHECK_EQ(wait_or_test(2 - async), 32);
        } else {
            CHECK_EQ(upc_all_fread_list_local(f, 2, sink, 2, source, 0), 32);
        }
        const int base = 1000 * right + 100 * async;
        for (int i = 0; i < 8; i++)
            CHECK_EQ(in[i < 4 ? 3 + i : 26 + i], base + (i < 3 ? 1 + i : 17 + i));
        CHECK(in[2] == 0x55555555 && in[7] == 0x55555555 && in[29] == 0x55555555 && in[34] == 0x55555555);
        upc_barrier;
    }
    CHECKED("local-lists");

    /* Lists of shared memory: blocks of 16 bytes, from the array's start. */
    for (int async = 0; async < 3; async++) {
        upc_forall (int i = 0; i < N * THREADS; i++; &a[i]) {
            a[i] = 7 * i + async;
            b[i] = -1;
        }
        upc_barrier;
        /* Thread t writes the blocks from 10 t to 10 t + 9 as its part, in two pieces, and reads its neighbour's to the same blocks. */
        const struct upc_shared_memvec from[2] = {{&a[N * MYTHREAD], 16, 64}, {&a[N * MYTHREAD + 16], 16, whole - 64}};
        const struct upc_filevec to = {part(MYTHREAD), whole};
        if (async) {
            upc_all_fwrite_list_shared_async(f, 2, from, 1, &to, 0);
            CHECK_EQ(wait_or_test(async - 1), whole);
        } else {
            CHECK_EQ(upc_all_fwrite_list_shared(f, 2, from, 1, &to, 0), whole);
        }
        CHECK_EQ(upc_all_fsync(f), 0);
        const struct upc_shared_memvec sink = {&b[N * right], 16, whole};
        const struct upc_filevec source[2] = {{part(right), 8}, {part(right) + 8, whole - 8}};
        if (async) {
            upc_all_fread_list_shared_async(f, 1, &sink, 2, source, 0);
            CHECK_EQ(wait_or_test(2 - async), whole);
        } else {
            CHECK_EQ(upc_all_fread_list_shared(f, 1, &sink, 2, source, 0), whole);
        }
        upc_barrier;
        for (int i = 0; i < N * THREADS; i++)
            CHECK_EQ(b[i], 7 * i + async);
        upc_barrier;
    }
    CHECKED("shared-lists");

    /* Parts of no bytes take part in nothing: not in the order of a file's parts either, wherever they are. */
    for (int async = 0; async < 3; async++) {
        const long at = part(MYTHREAD), there = part(right);
        for (int i = 0; i < N; i++)
            out[i] = 50 * MYTHREAD + async + i;
        const struct upc_local_memvec from[4] = {{NULL, 0}, {out, 4}, {out + N, 0}, {out + 9, 4}};
        const struct upc_filevec to[5] = {{-7, 0}, {at + 8, 2}, {0, 0}, {at + 12, 6}, {1, 0}};
        const struct upc_shared_memvec spread[3] = {{NULL, 0, 0}, {&a[N * MYTHREAD], 16, 4}, {NULL, 16, 0}};
        const struct upc_filevec more[4] = {{at + 40, 0}, {at + 20, 1}, {at, 0}, {at + 21, 3}};
        a[N * MYTHREAD] = -1000 - MYTHREAD - async;
        upc_fence;
        if (async) {
            upc_all_fwrite_list_local_async(f, 4, from, 5, to, 0);
            CHECK_EQ(wait_or_test(async - 1), 8);
            upc_all_fwrite_list_shared_async(f, 3, spread, 4, more, 0);
            CHECK_EQ(wait_or_test(2 - async), 4);
        } else {
            CHECK_EQ(upc_all_fwrite_list_local(f, 4, from, 5, to, 0), 8);
            CHECK_EQ(upc_all_fwrite_list_shared(f, 3, spread, 4, more, 0), 4);
        }
        CHECK_EQ(upc_all_fsync(f), 0);
        clear(in);
        const struct upc_local_memvec sink[4] = {{in + 1, 2}, {NULL, 0}, {(char *)in + 6, 6}, {NULL, 0}};
        const struct upc_filevec source[5] = {{there + 8, 2}, {0, 0}, {there + 12, 6}, {0, 0}, {-1, 0}};
        b[N * MYTHREAD] = 0;
        const struct upc_shared_memvec shared_sink[3] = {{NULL, 4, 0}, {&b[N * MYTHREAD], 16, 4}, {NULL, 0, 0}};
        const struct upc_filevec shared_source[3] = {{there + 20, 4}, {there, 0}, {0, 0}};
        if (async) {
            upc_all_fread_list_local_async(f, 4, sink, 5, source, 0);
            CHECK_EQ(wait_or_test(2 - async), 8);
            upc_all_fread_list_shared_async(f, 3, shared_sink, 3, shared_source, 0);
            CHECK_EQ(wait_or_test(async - 1), 4);
        } else {
            CHECK_EQ(upc_all_fread_list_local(f, 4, sink, 5, source, 0), 8);
            CHECK_EQ(upc_all_fread_list_shared(f, 3, shared_sink, 3, shared_source, 0), 4);
        }
        CHECK_EQ(in[1], 50 * right + async);
        CHECK_EQ(in[2], 50 * right + async + 9);
        CHECK(in[0] == 0x55555555 && in[3] == 0x55555555);
        CHECK_EQ(b[N * MYTHREAD], -1000 - right - async);
        upc_barrier;
    }
    /* Those that have bytes are in order, and end where a file can; sums do not wrap. */
    const struct upc_filevec wrong[4][2] = {
        {{12, 2}, {8, 2}}, {{-4, 4}, {0, 0}}, {{INT64_MAX - 1, 4}, {0, 0}}, {{0, SIZE_MAX - 3}, {8, 8}}};
    for (int i = 0; i < 4; i++) {
        const struct upc_local_memvec sink = {in, 4};
        errno = 0;
        CHECK(upc_all_fread_list_local(f, 1, &sink, 2, wrong[i], 0) == -1 && errno == EINVAL);
        upc_all_fread_list_local_async(f, 1, &sink, 2, wrong[i], 0);
        errno = 0;
        CHECK(upc_all_fwait_async(f) == -1 && errno == EINVAL);
    }
    upc_barrier;
    CHECKED("empty-parts");

    /* Transfers at the pointer, asynchronous: private, then shared buffers, both kinds of pointer. */
    for (int test = 0; test < 2; test++) {
        for (int i = 0; i < N; i++)
            out[i] = 5000 * MYTHREAD + i + test;
        upc_all_fseek(f, part(MYTHREAD), UPC_SEEK_SET);
        upc_all_fwrite_local_async(f, out, sizeof(int), N, 0);
        CHECK_EQ(wait_or_test(test), whole);
        CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), part(MYTHREAD) + whole);
        upc_all_fsync(f);
        upc_all_fseek(f, part(right), UPC_SEEK_SET);
        clear(in);
        upc_all_fread_local_async(f, in, sizeof(int), N - 1, 0);
        CHECK_EQ(wait_or_test(!test), whole - (long)sizeof(int));
        for (int i = 0; i < N - 1; i++)
            CHECK_EQ(in[i], 5000 * right + i + test);
        CHECK_EQ(in[N - 1], 0x55555555);
        CHECK_EQ(upc_all_fcntl(f, UPC_SET_COMMON_FP, NULL), 0);
        CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), 0);
        upc_forall (int i = 0; i < N * THREADS; i++; &a[i]) {
            a[i] = 3 * i - test;
            b[i] = 0;
        }
        upc_all_fwrite_shared_async(f, a, 4, sizeof(int), N * THREADS, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
        CHECK_EQ(wait_or_test(test), whole * THREADS);
        CHECK_EQ(upc_all_fseek(f, -whole * THREADS, UPC_SEEK_CUR), 0);
        upc_all_fread_shared_async(f, b, 4, sizeof(int), N * THREADS, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
        CHECK_EQ(wait_or_test(!test), whole * THREADS);
        for (int i = 0; i < N * THREADS; i++)
            CHECK_EQ(b[i], 3 * i - test);
        CHECK_EQ(upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL), 0);
    }
    CHECKED("asynchronous");

    /* Sizes: shrinking cuts, growing adds zeros; pointers stay. */
    CHECK_EQ(upc_all_fseek(f, 6, UPC_SEEK_SET), 6);
    CHECK_EQ(upc_all_fset_size(f, 10), 0);
    CHECK_EQ(upc_all_fget_size(f), 10);
    CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), 6);
    CHECK_EQ(upc_all_fread_local(f, in, 1, 100, 0), 4); /* short at the end of the file */
    CHECK_EQ(upc_all_fset_size(f, 50), 0);
    clear(in);
    CHECK_EQ(upc_all_fread_local(f, in, 1, 100, 0), 40);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(in[i], 0);
    CHECK_EQ(upc_all_fseek(f, 100, UPC_SEEK_END), 150); /* past the end */
    CHECK_EQ(upc_all_fget_size(f), 50);
    CHECK_EQ(upc_all_fread_local(f, in, 1, 100, 0), 0);
    upc_barrier;
    out[0] = 77;
    CHECK_EQ(upc_all_fseek(f, 150 + 4 * MYTHREAD, UPC_SEEK_SET), 150 + 4 * MYTHREAD);
    CHECK_EQ(upc_all_fwrite_local(f, out, 4, 1, 0), 4); /* writes extend */
    CHECK_EQ(upc_all_fsync(f), 0);
    CHECK_EQ(upc_all_fget_size(f), 150 + 4 * THREADS);
    CHECKED("sizes");
    CHECK_EQ(upc_all_fclose(f), 0);
    PASS();
}
