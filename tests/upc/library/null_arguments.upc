// Null pointers where the documents of the library permit them, on all threads and on some.
// static: yes
#include "check.h"
#include <bupc_collectivev.h>
#include <upc_atomic.h>
#include <upc_collective.h>
#include <upc_io.h>
#include <errno.h>
#include <unistd.h>

shared int per[THREADS], out[THREADS];
shared int pid;

int main(void)
{
    const int me = MYTHREAD, root = THREADS - 1;

    /* Results that a thread does not want, or that it does not get. */
    int all[THREADS], given = me;
    long longs[THREADS], big = 1000000007L * me;
    for (int wanted = -1; wanted <= THREADS; wanted++) { /* by nobody, by one, by everybody */
        const int mine = wanted == me || wanted == THREADS;
        for (int t = 0; t < THREADS; t++)
            all[t] = -1, longs[t] = -1;
        if (mine) {
            bupc_allv_gather_all(int, given, all);
            bupc_allv_gather_all(long, big, longs);
        } else {
            bupc_allv_gather_all(int, given, NULL);
            bupc_allv_gather_all(long, big, NULL);
        }
        for (int t = 0; t < THREADS; t++) {
            CHECK_EQ(all[t], mine ? t : -1);
            CHECK_EQ(longs[t], mine ? 1000000007L * t : -1);
        }
    }
    bupc_allv_gather(int, given, root, me == root ? all : NULL);
    for (int t = 0; t < THREADS && me == root; t++)
        CHECK_EQ(all[t], t);
    for (int t = 0; t < THREADS; t++)
        all[t] = 5 * t + 1;
    CHECK_EQ(bupc_allv_scatter(int, root, me == root ? all : NULL), 5 * me + 1);
    CHECKED("values");

    /* Functions of reductions that are not called. */
    per[me] = me + 1;
    upc_all_reduceI(&out[root], per, UPC_ADD, THREADS, 1, NULL, 0);
    CHECK_EQ(out[root], THREADS * (THREADS + 1) / 2);
    upc_barrier;
    upc_all_prefix_reduceI(out, per, UPC_MAX, THREADS, 1, NULL, 0);
    CHECK_EQ(out[me], me + 1);
    upc_barrier;
    bupc_all_reduce_allI(out, per, UPC_MIN, THREADS, 1, NULL, 0);
    CHECK_EQ(out[me], 1);
    CHECKED("reductions");

    /* What is given back may be nothing. */
    upc_free(NULL);
    upc_all_free(NULL);
    upc_lock_free(NULL);
    upc_all_lock_free(NULL);
    upc_all_atomicdomain_free(NULL);
    CHECKED("free");

    /* Files: no hints, no parts, no bytes. */
    if (me == 0)
        pid = getpid();
    upc_barrier;
    char name[200];
    const char *dir = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/upc-null-arguments-%d", dir ? dir : "/tmp", (int)pid);
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(f != NULL);
    CHECK_EQ(upc_all_fwrite_local(f, NULL, 4, 0, 0), 0);
    CHECK_EQ(upc_all_fread_local(f, NULL, 0, 9, 0), 0);
    CHECK_EQ(upc_all_fwrite_shared(f, NULL, 4, 4, 0, 0), 0);
    CHECK_EQ(upc_all_fread_shared(f, NULL, 0, 4, 0, 0), 0);
    CHECK_EQ(upc_all_fwrite_list_local(f, 0, NULL, 0, NULL, 0), 0);
    CHECK_EQ(upc_all_fread_list_local(f, 0, NULL, 0, NULL, 0), 0);
    CHECK_EQ(upc_all_fwrite_list_shared(f, 0, NULL, 0, NULL, 0), 0);
    upc_all_fread_list_shared_async(f, 0, NULL, 0, NULL, 0);
    CHECK_EQ(upc_all_fwait_async(f), 0);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL), 0);
    errno = 0; /* what needs its argument says so */
    CHECK(upc_all_fcntl(f, UPC_GET_FN, NULL) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(upc_all_fcntl(f, UPC_SET_HINT, NULL) == -1 && errno == EINVAL);
    CHECK_EQ(upc_all_fcntl(f, UPC_GET_HINTS, NULL), 0);
    CHECK_EQ(upc_all_fclose(f), 0);
    errno = 0;
    CHECK(upc_all_fclose(NULL) == -1 && errno == EBADF);
    errno = 0;
    CHECK(upc_all_fopen(NULL, UPC_RDWR | UPC_INDIVIDUAL_FP, 0, NULL) == NULL && errno == EFAULT);
    CHECKED("files");

    /* Transfers of nothing. */
    upc_memput(NULL, NULL, 0);
    upc_memget(NULL, NULL, 0);
    upc_memcpy(NULL, NULL, 0);
    upc_memset(NULL, 0, 0);
    upc_sync(upc_memput_nb(NULL, NULL, 0));
    upc_memget_nbi(NULL, NULL, 0);
    upc_synci();
    bupc_memput_ilist(0, NULL, 0, 0, NULL, 0);
    bupc_memget_vlist(0, NULL, 0, NULL);
    bupc_memcpy_fstrided(NULL, 0, 0, 0, NULL, 0, 0, 0);
    bupc_waitsync_all(NULL, 0);
    bupc_sem_free(NULL);
    CHECKED("nothing");
    PASS();
}
