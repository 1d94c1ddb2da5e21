// upc_io.h: both kinds of file pointer, private and shared buffers, lists, asynchronous transfers, every command.
// static: yes
#include "../check.h"
#include <upc_io.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define N 50
shared [4] int a[4 * N * THREADS], b[4 * N * THREADS];
shared [] int *flat;
shared int pid;

int main(void)
{
    char name[100];
    const long total = 4L * N * THREADS * sizeof(int), mine = 4L * N * sizeof(int);
    if (MYTHREAD == 0)
        pid = getpid();
    flat = upc_all_alloc(1, total);
    upc_barrier;
    const char *dir = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/upc-io-test-%d", dir ? dir : "/tmp", (int)pid);
    upc_forall (int i = 0; i < 4 * N * THREADS; i++; &a[i])
        a[i] = 3 * i + 1;

    /* Errors are everybody's. */
    errno = 0;
    CHECK(upc_all_fopen(name, UPC_RDONLY | UPC_COMMON_FP, 0, NULL) == NULL);
    CHECK_EQ(errno, ENOENT);
    CHECK(upc_all_fopen(name, UPC_RDONLY | UPC_WRONLY | UPC_COMMON_FP, 0, NULL) == NULL);
    CHECK_EQ(errno, EINVAL);

    /* Common file pointer: one transfer of a blocked array. */
    struct upc_hint hints[2] = { { "file_perm", "0600" }, { "unknown", "x" } };
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_EXCL, 2, hints);
    CHECK(f != NULL);
    CHECK_EQ(upc_all_fwrite_shared(f, a, 4, sizeof(int), 4 * N * THREADS, 0), total);
    CHECK_EQ(upc_all_fget_size(f), total);
    CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), total);
    CHECK_EQ(upc_all_fread_shared(f, b, 4, sizeof(int), 10, 0), 0);
    CHECK_EQ(upc_all_fseek(f, sizeof(int), UPC_SEEK_SET), sizeof(int));
    CHECK_EQ(upc_all_fread_shared(f, flat, 0, sizeof(int), 4 * N * THREADS, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC), total - (long)sizeof(int));
    for (int i = 0; i < 4 * N * THREADS - 1; i++)
        CHECK_EQ(flat[i], 3 * (i + 1) + 1);
    upc_barrier;

    /* Commands. */
    const char *fn;
    const upc_hint_t *h;
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_FP, NULL), UPC_COMMON_FP);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL), 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_SET_STRONG_CA_SEMANTICS, NULL), 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL), UPC_STRONG_CA);
    CHECK_EQ(upc_all_fcntl(f, UPC_SET_WEAK_CA_SEMANTICS, NULL), 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FL, NULL) & UPC_RDWR);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_FN, &fn), 0);
    CHECK(strcmp(fn, name) == 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_HINTS, &h), 2);
    CHECK(strcmp(h[0].key, "file_perm") == 0 && strcmp(h[1].value, "x") == 0);
    struct upc_hint other = { "unknown", "y" };
    CHECK_EQ(upc_all_fcntl(f, UPC_SET_HINT, &other), 0);
    CHECK(upc_all_fcntl(f, UPC_GET_HINTS, &h) == 2 && strcmp(h[1].value, "y") == 0);
    CHECK_EQ(upc_all_fcntl(f, 12345, NULL), -1);
    CHECK_EQ(upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL), 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_FP, NULL), UPC_INDIVIDUAL_FP);
    CHECK_EQ(upc_all_fseek(f, 0, UPC_SEEK_CUR), 0);

    /* Individual file pointers, private buffers: everybody its own part, in two steps. */
    int buf[4 * N], got[4 * N];
    for (int i = 0; i < 4 * N; i++)
        buf[i] = 1000 * MYTHREAD + i;
    CHECK_EQ(upc_all_fseek(f, mine * MYTHREAD, UPC_SEEK_SET), mine * MYTHREAD);
    CHECK_EQ(upc_all_fwrite_local(f, buf, sizeof(int), 4 * N, 0), mine);
    CHECK_EQ(upc_all_fsync(f), 0);
    int next = (MYTHREAD + 1) % THREADS;
    CHECK_EQ(upc_all_fseek(f, mine * next - total, UPC_SEEK_END), mine * next);
    CHECK_EQ(upc_all_fread_local(f, got, sizeof(int), N, UPC_IN_NOSYNC | UPC_OUT_NOSYNC), mine / 4);
    CHECK_EQ(upc_all_fread_local(f, got + N, sizeof(int), 3 * N, 0), 3 * mine / 4);
    for (int i = 0; i < 4 * N; i++)
        CHECK_EQ(got[i], 1000 * next + i);
    CHECK_EQ(upc_all_fseek(f, -1, UPC_SEEK_SET), -1);
    /* ... shared buffers: into the own blocks. */
    CHECK_EQ(upc_all_fseek(f, mine * MYTHREAD, UPC_SEEK_SET), mine * MYTHREAD);
    CHECK_EQ(upc_all_fread_shared(f, &b[4 * MYTHREAD], 0, sizeof(int), 4, 0), 4 * (long)sizeof(int));
    CHECK_EQ(b[4 * MYTHREAD + 3], 1000 * MYTHREAD + 3);

    /* Lists. */
    struct upc_local_memvec mem[3] = { { got, 8 }, { got + 10, 0 }, { got + 20, 12 } };
    struct upc_filevec file[2] = { { mine * next + 4, 12 }, { mine * next + 40, 8 } };
    CHECK_EQ(upc_all_fread_list_local(f, 3, mem, 2, file, 0), 20);
    CHECK(got[0] == 1000 * next + 1 && got[20] == 1000 * next + 3 && got[21] == 1000 * next + 10 && got[22] == 1000 * next + 11);
    struct upc_filevec falling[2] = { { 40, 12 }, { 0, 8 } };
    CHECK_EQ(upc_all_fread_list_local(f, 3, mem, 2, falling, 0), -1);
    upc_barrier;
    struct upc_shared_memvec smem[2] = { { &a[4 * MYTHREAD], 0, 8 }, { &a[4 * MYTHREAD + 2], 4 * sizeof(int), 8 } };
    struct upc_filevec out = { mine * MYTHREAD, 16 };
    CHECK_EQ(upc_all_fwrite_list_shared(f, 2, smem, 1, &out, 0), 16);
    /* the second piece starts a block of its own in the middle of one: both its elements are on this thread */
    CHECK_EQ(upc_all_fseek(f, mine * MYTHREAD, UPC_SEEK_SET), mine * MYTHREAD);
    CHECK_EQ(upc_all_fread_local(f, got, 1, 16, 0), 16);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(got[i], a[4 * MYTHREAD + i]);

    /* Asynchronous. */
    int done = 0;
    CHECK_EQ(upc_all_fseek(f, mine * MYTHREAD, UPC_SEEK_SET), mine * MYTHREAD);
    upc_all_fwrite_local_async(f, buf, sizeof(int), 4 * N, 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL), 1);
    CHECK_EQ(upc_all_fget_size(f), -1);
    CHECK_EQ(upc_all_fwait_async(f), mine);
    CHECK_EQ(upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL), 0);
    memset(got, 0, sizeof got);
    upc_all_fread_list_local_async(f, 1, &(struct upc_local_memvec){ got, mine }, 1, &(struct upc_filevec){ mine * next, mine }, 0);
    long n = 0;
    while (!done)
        n = upc_all_ftest_async(f, &done);
    CHECK_EQ(n, mine);
    for (int i = 0; i < 4 * N; i++)
        CHECK_EQ(got[i], 1000 * next + i);

    /* Sizes. */
    CHECK_EQ(upc_all_fset_size(f, total / 2), 0);
    CHECK_EQ(upc_all_fget_size(f), total / 2);
    CHECK_EQ(upc_all_fpreallocate(f, total / 4), 0);
    CHECK_EQ(upc_all_fget_size(f), total / 2);
    CHECK_EQ(upc_all_fpreallocate(f, 2 * total), 0);
    CHECK_EQ(upc_all_fget_size(f), 2 * total);
    CHECK_EQ(upc_all_fclose(f), 0);
    CHECK_EQ(upc_all_fclose(f), -1);

    /* Append and delete. */
    f = upc_all_fopen(name, UPC_WRONLY | UPC_INDIVIDUAL_FP | UPC_APPEND | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(f != NULL && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 2 * total);
    CHECK_EQ(upc_all_fread_local(f, got, 1, 1, 0), -1);
    CHECK(upc_all_fopen(name, UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_EXCL, 0, NULL) == NULL && errno == EEXIST);
    CHECK_EQ(upc_all_fclose(f), 0);
    upc_barrier;
    CHECK(access(name, F_OK) != 0);
    PASS();
    return 0;
}
